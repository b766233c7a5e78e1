//! No text, however damaged, makes the reader panic, and every problem lies inside the file.

use super::support::{HEAD, WEB, checked};

const EXAMPLE: &str = include_str!("../../../../examples/local.toml");

/// A small generator (xorshift), so that a failure names the seed that repeats it.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(below.max(1)).unwrap_or(1)).unwrap_or_default()
    }
}

const PIECES: [&str; 24] = [
    "[",
    "]",
    "[[",
    "]]",
    "{",
    "}",
    "=",
    "\"",
    "'",
    "\"\"\"",
    ".",
    ",",
    "\n",
    "\r\n",
    "#",
    "-1",
    "\\u0000",
    "é",
    "\u{202e}",
    "\u{1b}[31m",
    "[group.web]",
    "group.web.count = 1",
    "count = 99999999999999999999",
    "{port:",
];

fn damaged(dice: &mut Dice, text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..=dice.roll(6) {
        let at = dice.roll(bytes.len());
        match dice.roll(4) {
            0 => bytes[at] = u8::try_from(dice.roll(256)).unwrap_or_default(),
            1 => drop(bytes.drain(at..(at + 1 + dice.roll(40)).min(bytes.len()))),
            2 => drop(bytes.splice(at..at, PIECES[dice.roll(PIECES.len())].bytes())),
            _ => {
                let from = dice.roll(bytes.len());
                let part = bytes[from..(from + dice.roll(60)).min(bytes.len())].to_vec();
                drop(bytes.splice(at..at, part));
            }
        }
        if bytes.is_empty() {
            break;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn damaged_texts_are_refused_with_places_and_never_panic() {
    let minimal = format!("{HEAD}{WEB}");
    for seed in 1..=600_u64 {
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let text = damaged(&mut dice, if seed % 2 == 0 { EXAMPLE } else { &minimal });
        let Err(error) = checked(&text) else { continue };
        let lines = text.matches('\n').count() + 1;
        assert!(!error.diagnostics().is_empty(), "seed {seed} is refused without a reason");
        for problem in error.to_views() {
            assert!((1..=lines).contains(&problem.line), "seed {seed}: {problem:?}");
            assert!(problem.column >= 1 && problem.hint.is_some(), "seed {seed}: {problem:?}");
        }
        let places: Vec<_> = error.to_views().iter().map(|p| (p.line, p.column)).collect();
        assert!(places.is_sorted(), "seed {seed}: {places:?}");
        let shown = error.render(false);
        assert!(!shown.contains(['\u{1b}', '\u{202e}']), "seed {seed}: {shown:?}");
        assert_eq!(shown, checked(&text).map_or_else(|e| e.render(false), |_| String::new()));
    }
}

#[test]
fn deep_nesting_and_thousands_of_errors_are_borne() {
    let deep = format!("{HEAD}{WEB}env = {}1{}\n", "{ a = ".repeat(5_000), " }".repeat(5_000));
    assert!(checked(&deep).is_err());
    let dotted = format!("{HEAD}[provider.x{}]\n", ".a".repeat(5_000));
    assert!(checked(&dotted).is_err());
    let many: Vec<_> = (0..20_000).map(|n| format!("k{n} = 1")).collect();
    let many = many.join("\n");
    let error = checked(&many).expect_err("none of the keys is known");
    assert!(error.render(false).ends_with("more"));
    assert!(error.to_views().len() >= 20_000);
}
