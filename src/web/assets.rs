//! The files of the page, built into the program.

use super::response::Response;

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";

/// Path, type and content.
const FILES: &[(&str, &str, &[u8])] = &[
    ("/", HTML, include_bytes!("page/index.html")),
    ("/style.css", CSS, include_bytes!("page/style.css")),
    ("/pieces.svg", SVG, include_bytes!("page/pieces.svg")),
    ("/icon.svg", SVG, include_bytes!("page/icon.svg")),
    ("/main.js", SCRIPT, include_bytes!("page/main.js")),
    ("/api.js", SCRIPT, include_bytes!("page/api.js")),
    ("/arrows.js", SCRIPT, include_bytes!("page/arrows.js")),
    ("/board.js", SCRIPT, include_bytes!("page/board.js")),
    ("/drag.js", SCRIPT, include_bytes!("page/drag.js")),
    ("/moves.js", SCRIPT, include_bytes!("page/moves.js")),
    ("/pieces.js", SCRIPT, include_bytes!("page/pieces.js")),
    ("/players.js", SCRIPT, include_bytes!("page/players.js")),
    ("/promotion.js", SCRIPT, include_bytes!("page/promotion.js")),
    ("/thoughts.js", SCRIPT, include_bytes!("page/thoughts.js")),
    ("/words.js", SCRIPT, include_bytes!("page/words.js")),
];

/// The file of that path.
pub fn find(path: &str) -> Option<Response> {
    let (_, kind, content) = FILES.iter().find(|(name, ..)| *name == path)?;
    Some(Response::file(kind, content))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Page and scripts together, in bytes.
    const BUDGET: usize = 150_000;

    #[test]
    fn the_page_is_light() {
        let weight: usize = FILES.iter().map(|(.., content)| content.len()).sum();
        assert!(weight < BUDGET, "{weight} bytes");
    }

    /// Whatever a file names is there, and every file is named by another.
    #[test]
    fn the_page_is_whole() {
        let text = |(.., content): &(&str, &str, &'static [u8])| str::from_utf8(content).unwrap();
        let all: String = FILES.iter().map(text).collect();
        for (path, ..) in &FILES[1..] {
            let name = &path[1..];
            let named = [format!("\"{path}\""), format!("\"./{name}\"")];
            assert!(named.iter().any(|named| all.contains(named.as_str())), "{path}");
        }
        for (_, rest) in
            all.match_indices("from \"./").map(|(at, found)| all[at..].split_at(found.len()))
        {
            let name = rest.split('"').next().unwrap();
            assert!(find(&format!("/{name}")).is_some(), "{name}");
        }
    }
}
