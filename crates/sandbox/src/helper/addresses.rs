//! The addresses that the loader wrote into the program when it was started: megabytes
//! of pages that are this process's own. Each process that is forked gets the entries of all of
//! them copied and gives them back, for the few that it looks at.
#![expect(unsafe_code, reason = "asks the loader where they are, and maps pages")]

use std::{
    fs::File,
    io::{self, Write},
    ops::Range,
};

use rustix::{
    fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create},
    mm::{MapFlags, ProtFlags, mmap},
};

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
    let fixed = MapFlags::PRIVATE | MapFlags::FIXED;
    // SAFETY: what is mapped is, byte for byte, what was there, and nobody can change it.
    unsafe {
        mmap(
            pages.start as *mut _,
            pages.len(),
            ProtFlags::READ,
            fixed,
            &file,
            0,
        )?;
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
    let page = rustix::param::page_size();
    // SAFETY: the function and what is passed to it live across the call.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut found).cast()) };
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
