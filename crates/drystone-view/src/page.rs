//! The page as it was bundled by `scripts/page`.

/// The document; refers to the others.
pub const HTML: &str = include_str!("../assets/index.html");
/// What runs while the program is still read.
pub const START: &str = include_str!("../assets/start.js");
/// The program, three.js included.
pub const SCRIPT: &str = include_str!("../assets/viewer.js");
/// How it looks.
pub const STYLE: &str = include_str!("../assets/viewer.css");

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// FNV-1a over the sources, as `page/build.mjs` writes it into the bundle's first line.
    fn hash_of_sources() -> String {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("page");
        let mut files: Vec<_> =
            std::fs::read_dir(page.join("src")).unwrap().map(|f| f.unwrap().path()).collect();
        files.extend(["package-lock.json", "build.mjs"].map(|f| page.join(f)));
        files.sort_by_key(|f| f.file_name().unwrap().to_owned());
        let mut h = 0xcbf2_9ce4_8422_2325u64;
        for byte in files.iter().flat_map(|f| std::fs::read(f).unwrap()) {
            h = (h ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        format!("{h:016x}")
    }

    #[test]
    fn the_bundle_is_that_of_todays_sources() {
        let first = SCRIPT.lines().next().unwrap();
        assert!(
            first.contains(&hash_of_sources()),
            "the page's sources have changed: run scripts/page ({first})"
        );
    }

    /// `drystone check` tells controls that take a key from the page: it must know all of them.
    #[test]
    fn keys_of_the_page_are_known_to_the_scenes() {
        let keys = include_str!("../page/src/keys.js");
        let codes: Vec<&str> =
            keys.split("case \"").skip(1).filter_map(|part| part.split('"').next()).collect();
        assert!(codes.len() > 15, "{codes:?}");
        let known = |code: &str| drystone_scene::control::PAGE_KEYS.iter().any(|(k, _)| *k == code);
        // Space plays, and brakes where one drives; Escape cannot be bound.
        for code in codes.iter().filter(|c| !["Space", "Escape"].contains(c)) {
            assert!(known(code), "{code}");
        }
    }

    #[test]
    fn the_page_is_small_whole_and_licensed() {
        let size = HTML.len() + START.len() + SCRIPT.len() + STYLE.len();
        assert!(size < 1_500_000, "{size} bytes");
        assert!(SCRIPT.contains("Three.js Authors") && SCRIPT.contains("SPDX-License-Identifier: MIT"));
        for outside in ["https://cdn", "http://cdn", "unpkg.com", "googleapis"] {
            assert!(!HTML.contains(outside) && !STYLE.contains(outside) && !SCRIPT.contains(outside));
        }
        assert!(
            !SCRIPT.contains("</script") && !START.contains("</script"),
            "it could not be put into a document"
        );
    }
}
