//! The addresses that the loader wrote into the program when it was started: more
//! than a megabyte of pages that are this process's own. Each process that is forked gets the entries of all of
//! them copied and gives them back, for the few that it looks at.
#![expect(unsafe_code, reason = "asks the loader where they are, and maps pages")]

use std::{
    fs::File,
    io::{self, Write},
    ops::Range,
    os::fd::AsRawFd,
};

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};

/// Puts a file in memory with the same content in the place of those pages: what is
/// forked finds them there when it needs them. Where that cannot be, all stays as it is.
pub(super) fn share() -> io::Result<()> {
    let pages = pages();
    if pages.is_empty() {
        return Ok(());
    }
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let mut file = File::from(memfd_create("addresses", flags)?);
    // SAFETY: the loader made these pages read-only before the program began.
    let content = unsafe { std::slice::from_raw_parts(pages.start as *const u8, pages.len()) };
    file.write_all(content)?;
    let seals = SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL;
    fcntl_add_seals(&file, seals)?;
    let fixed = libc::MAP_PRIVATE | libc::MAP_FIXED;
    let (start, length) = (pages.start as *mut libc::c_void, pages.len());
    // SAFETY: what is mapped is, byte for byte, what was there, and nobody can change it.
    let mapped = unsafe { libc::mmap(start, length, libc::PROT_READ, fixed, file.as_raw_fd(), 0) };
    if mapped == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// The pages of this program that the loader wrote to and then made read-only.
fn pages() -> Range<usize> {
    extern "C" fn look(
        object: *mut libc::dl_phdr_info,
        _size: usize,
        found: *mut libc::c_void,
    ) -> libc::c_int {
        // SAFETY: what the loader gives us, and what is passed below.
        unsafe {
            let object = &*object;
            let headers = std::slice::from_raw_parts(object.dlpi_phdr, object.dlpi_phnum.into());
            let mut headers = headers.iter();
            if let Some(header) = headers.find(|header| header.p_type == libc::PT_GNU_RELRO) {
                let start = (object.dlpi_addr + header.p_vaddr) as usize;
                *found.cast::<Range<usize>>() = start..start + header.p_memsz as usize;
            }
        }
        // The first one is the program itself.
        1
    }
    let mut found = 0..0;
    // SAFETY: a plain question; the function and what is passed to it live across the call.
    let page = unsafe {
        libc::dl_iterate_phdr(Some(look), (&raw mut found).cast());
        libc::sysconf(libc::_SC_PAGESIZE)
    };
    let page = usize::try_from(page).unwrap_or(4096);
    // As the loader rounds them.
    found.start / page * page..found.end / page * page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pages_become_those_of_a_file_and_hold_the_same() {
        let pages = pages();
        assert!(!pages.is_empty());
        let content = || {
            // SAFETY: the pages of the program, before and after.
            let content =
                unsafe { std::slice::from_raw_parts(pages.start as *const u8, pages.len()) };
            content.to_vec()
        };
        let before = content();
        share().unwrap();
        assert_eq!(content(), before);
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let ours = format!("{:x}-{:x} r--p", pages.start, pages.end);
        let line = maps.lines().find(|line| line.starts_with(&ours)).unwrap();
        assert!(line.contains("memfd:addresses"), "{line}");
    }
}
