//! The text of a PDF, page by page. A PDF is a program as much as a document,
//! and most of them are broken in some way: it is read on a thread of its own
//! with a deep stack, what unpacks is capped, and a panic is an answer.

use std::{
    fmt::Write as _,
    time::{Duration, Instant},
};

use lopdf::{Document, LoadOptions};

/// A larger document is for other programs.
const MOST_BYTES: usize = 16 * 1024 * 1024;

/// What one stream of it may unpack to.
const STREAM_BYTES: usize = 32 * 1024 * 1024;

/// Text that is kept, of all pages together.
const TEXT_BYTES: usize = 4 * 1024 * 1024;

/// No further page is begun after this.
const PATIENCE: Duration = Duration::from_secs(20);

/// The reader goes down as deep as the document is nested.
const STACK: usize = 16 * 1024 * 1024;

/// What could be read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Pages {
    pub(crate) count: usize,
    /// Their text, each page with a heading.
    pub(crate) text: String,
}

/// Reads a document; the reason when it cannot be read.
pub(crate) fn read(bytes: Vec<u8>) -> Result<Pages, String> {
    if bytes.len() > MOST_BYTES {
        return Err(format!("more than {MOST_BYTES} bytes"));
    }
    let reading = std::thread::Builder::new()
        .name("pdf".to_owned())
        .stack_size(STACK)
        .spawn(move || pages(&bytes))
        .map_err(|error| error.to_string())?;
    reading.join().unwrap_or_else(|_| {
        Err("it is damaged in a way that the reader does not survive".to_owned())
    })
}

fn pages(bytes: &[u8]) -> Result<Pages, String> {
    let options = LoadOptions {
        max_decompressed_size: Some(STREAM_BYTES),
        ..LoadOptions::default()
    };
    let document =
        Document::load_mem_with_options(bytes, options).map_err(|error| error.to_string())?;
    if document.is_encrypted() {
        return Err("it is encrypted".to_owned());
    }
    let begin = Instant::now();
    let numbers: Vec<u32> = document.get_pages().into_keys().collect();
    let mut text = String::new();
    let mut any = false;
    for (done, number) in numbers.iter().enumerate() {
        if text.len() > TEXT_BYTES || begin.elapsed() > PATIENCE {
            let _ = writeln!(
                text,
                "[{} further pages were not read]",
                numbers.len() - done
            );
            break;
        }
        let _ = writeln!(text, "--- page {number} ---");
        match document.extract_text_with_limit(&[*number], STREAM_BYTES) {
            Ok(page) => {
                any |= !page.trim().is_empty();
                text.push_str(page.trim());
                text.push('\n');
            }
            Err(error) => {
                let _ = writeln!(text, "[this page cannot be read: {error}]");
            }
        }
    }
    if numbers.is_empty() {
        return Err("it has no pages that can be found".to_owned());
    }
    if !any {
        return Err(format!(
            "none of its {} pages holds text (perhaps they are scanned)",
            numbers.len()
        ));
    }
    Ok(Pages {
        count: numbers.len(),
        text,
    })
}

#[cfg(test)]
#[path = "pdf_tests.rs"]
mod tests;
