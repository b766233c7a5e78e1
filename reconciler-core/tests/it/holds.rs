//! Every hold has a page that a person can go by, and no page is of a hold that nothing raises (P6).

use std::{collections::BTreeSet, fs, path::Path};

use reconciler_core::hold::HoldCode;

/// One page per code, one code per page.
#[test]
fn codes_and_pages_are_paired() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/holds");
    let name =
        |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
    let mut pages: BTreeSet<String> = fs::read_dir(&dir).unwrap().map(name).collect();
    assert!(pages.remove("README.md"));
    let index = fs::read_to_string(dir.join("README.md")).unwrap();
    for code in HoldCode::ALL {
        let code = code.as_str();
        let page = format!("{code}.md");
        assert!(pages.remove(&page), "{code} has no page");
        let text = fs::read_to_string(dir.join(&page)).unwrap();
        assert_eq!(text.lines().next(), Some(&*format!("# `{code}`")));
        assert!(text.contains("$ levelhead release "), "{page} names no way out");
        assert!(index.contains(&format!("[`{code}`]({page})")), "{page} is not in the index");
    }
    assert_eq!(pages, BTreeSet::new(), "pages of no code");
}
