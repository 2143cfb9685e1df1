//! One HTML file with the frames inside: opens from disk, without a server or a network.

use std::io::Write;

use flate2::Compression;
use flate2::write::ZlibEncoder;

use crate::codec::{HELLO, Put};
use crate::frames::Frames;
use crate::page;
use crate::stage::Told;

/// The document of all frames that there are.
pub fn html(frames: &dyn Frames) -> std::io::Result<String> {
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::best());
    let mut add = |message: &[u8]| {
        let mut length = Vec::new();
        length.u32(message.len() as u32);
        packed.write_all(&length)?;
        packed.write_all(message)
    };
    let mut hello = vec![HELLO];
    hello.extend(frames.hello().json().to_string().bytes());
    add(&hello)?;
    if let Some(stage) = frames.stage(&mut Told::default()) {
        add(&stage)?;
    }
    for k in 0..frames.count() {
        if let Some(frame) = frames.frame(k) {
            add(&frame)?;
        }
    }
    let data = base64(&packed.finish()?);
    let script = format!(
        "<script type=\"text/plain\" id=\"frames\">{data}</script>\n<script>{}</script>\n<script type=\"module\">{}</script>",
        page::START,
        page::SCRIPT
    );
    // Nothing is loaded from elsewhere: what the page refers to is put in its place.
    Ok(page::HTML
        // By this a later document knows that it may take this one's place.
        .replace(
            "<meta charset=\"utf-8\">",
            "<meta charset=\"utf-8\">\n<meta name=\"generator\" content=\"drystone\">",
        )
        .replace("<script type=\"module\" src=\"viewer.js\" blocking=\"render\"></script>\n", "")
        .replace("<link rel=\"stylesheet\" href=\"viewer.css\">", &format!("<style>{}</style>", page::STYLE))
        .replace("<script src=\"start.js\"></script>", &script))
}

/// RFC 4648, with padding.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let word = chunk.iter().fold(0u32, |w, b| w << 8 | u32::from(*b)) << (8 * (3 - chunk.len()));
        for k in 0..4 {
            let letter = LETTERS[(word >> (18 - 6 * k) & 63) as usize] as char;
            text.push(if k <= chunk.len() { letter } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_refers_to_nothing() {
        let store = crate::Store::new(crate::Hello::default(), 1);
        let text = html(&store).unwrap();
        assert!(!text.contains("src=\"") && !text.contains("rel=\"stylesheet\""));
        for part in [page::START, page::SCRIPT, page::STYLE] {
            assert!(text.contains(part));
        }
    }

    #[test]
    fn letters_are_those_of_the_standard() {
        for (bytes, text) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
        assert_eq!(base64(&[0xfb, 0xff]), "+/8=");
    }
}
