//! Cutting long text into posts. A cut falls between lines; inside a code fence
//! the fence is closed and opened again, so that each part reads by itself.

/// What one post holds safely: Slack counts bytes after escaping and splits
/// by itself above 4,000.
pub const LIMIT: usize = 3_500;

const FENCE: &str = "```";
/// Room for closing and reopening a fence around a cut.
const FENCE_ROOM: usize = 2 * (FENCE.len() + 1);

/// Cuts `text` into parts of at most `limit` bytes, at line ends where there
/// are any, never inside a character, with fences balanced in every part.
pub fn split(text: &str, limit: usize) -> Vec<String> {
    let limit = limit.max(FENCE_ROOM + 8);
    if text.len() <= limit {
        return vec![text.to_owned()];
    }
    let mut parts = Vec::new();
    let mut part = String::new();
    let mut fenced = false;
    for line in text.split_inclusive('\n') {
        for piece in pieces(line, limit - FENCE_ROOM) {
            let toggles = fences_in(piece) % 2 == 1;
            // A part that a fence is still open in needs room to close it.
            let closing = if fenced || toggles {
                FENCE.len() + 1
            } else {
                0
            };
            if !part.is_empty() && part.len() + piece.len() + closing > limit {
                close(&mut parts, &mut part, fenced);
            }
            part.push_str(piece);
            fenced ^= toggles;
        }
    }
    if !part.trim().is_empty() {
        parts.push(part);
    }
    parts
}

/// Ends a part and begins the next, inside a fence if we were in one.
fn close(parts: &mut Vec<String>, part: &mut String, fenced: bool) {
    let mut done = std::mem::take(part);
    if fenced {
        if !done.ends_with('\n') {
            done.push('\n');
        }
        done.push_str(FENCE);
        part.push_str(FENCE);
        part.push('\n');
    }
    if !done.trim().is_empty() {
        parts.push(done);
    }
}

fn fences_in(text: &str) -> usize {
    text.matches(FENCE).count()
}

/// A line that alone is too long, cut at spaces or else between characters.
fn pieces(line: &str, limit: usize) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = line;
    while rest.len() > limit {
        let end = rest.floor_char_boundary(limit);
        let mut cut = rest[..end].rfind(' ').map_or(end, |space| space + 1).max(1);
        // An escape such as `&amp;` must stay whole, and so must a fence.
        if let Some(start) = rest[..cut].rfind('&')
            && cut - start < 5
            && start > 0
            && rest[start..]
                .find(';')
                .is_some_and(|semi| start + semi >= cut)
        {
            cut = start;
        }
        let ticks = rest[..cut].bytes().rev().take_while(|b| *b == b'`').count();
        if ticks > 0 && ticks < cut && rest[cut..].starts_with('`') {
            cut -= ticks;
        }
        let (head, tail) = rest.split_at(rest.floor_char_boundary(cut).max(1));
        found.push(head);
        rest = tail;
    }
    found.push(rest);
    found
}

#[cfg(test)]
#[path = "split_tests.rs"]
mod tests;
