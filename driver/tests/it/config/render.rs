//! How problems are shown: two whole renderings, and what an excerpt may not contain.

use driver::config::SHOWN_MAX;

use super::support::{HEAD, WEB, checked};

fn rendered(text: &str) -> String {
    checked(text).map_or_else(|error| error.render(false), |_| String::new())
}

#[test]
fn problems_of_meaning_are_shown_with_excerpt_label_and_help() {
    let text = format!(
        "{HEAD}[group.web]\ncuont = 3\n[group.web.boot]\ncommand = \"serve now\"\n\
         env = {{ API_TOKEN = \"hunter2\" }}\n[group.web.policy.restart]\ncap = \"1s\"\ninitial = \"5s\"\n"
    );
    let expected = r#"error: `count` is missing
 --> cluster.toml:4:1
  |
4 | [group.web]
  | ^^^^^^^^^^^
  |
  = help: say how many nodes there should be: count = 3

error: unknown key `cuont`
 --> cluster.toml:5:1
  |
5 | cuont = 3
  | ^^^^^ not a key of a group
  |
  = help: did you mean `count`?

error: expected an array of strings, found a string
 --> cluster.toml:7:11
  |
7 | command = "serve now"
  |           ^^^^^^^^^^^
  |
  = help: write ["serve", "now"]; no shell splits it

error: `API_TOKEN` looks like a credential written into the file
 --> cluster.toml:8:21
  |
8 | env = { API_TOKEN = "*******" }
  |                     ^^^^^^^^^ not shown
  |
  = help: keep it out of this file: move it to `secret_env`, and refer there to "env:API_TOKEN" or "file:PATH"

error: the longest delay is shorter than the first
  --> cluster.toml:10:7
   |
10 | cap = "1s"
   |       ^^^^ `cap` is 1s
   |
  ::: cluster.toml:11:11
   |
11 | initial = "5s"
   |           ---- `initial` is 5s
   |
   = help: `initial` is 5s; raise `cap` or lower `initial`"#;
    assert_eq!(rendered(&text), expected);
}

#[test]
fn problems_of_syntax_show_both_places_of_a_duplicate() {
    let text = format!("{HEAD}{WEB}[group.web]\ncount = 2\nrole = \"a\nx = = 3\n");
    let expected = r#"error: group `web` is declared twice
 --> cluster.toml:9:8
  |
9 | [group.web]
  |        ^^^ again here
  |
 ::: cluster.toml:4:8
  |
4 | [group.web]
  |        --- first here
  |
  = help: keep one of them; a table may be opened only once

error: invalid TOML: invalid string, expected `"`
  --> cluster.toml:11:10
   |
11 | role = "a
   |          ^
   |
   = help: put the text in double quotes, on one line

error: invalid TOML: extra `=`, expected nothing
  --> cluster.toml:12:5
   |
12 | x = = 3
   |     ^
   |
   = help: write one `NAME = …` per line, and headers as [group.NAME]

error: invalid TOML: unexpected key or value, expected newline, `#`
  --> cluster.toml:12:7
   |
12 | x = = 3
   |       ^
   |
   = help: write one `NAME = …` per line, and headers as [group.NAME]"#;
    assert_eq!(rendered(&text), expected);
}

#[test]
fn an_empty_file_lacks_everything_in_the_order_of_the_format() {
    let shown = rendered("");
    let titles: Vec<_> = shown.lines().filter(|line| line.starts_with("error: ")).collect();
    let expected =
        ["version", "run", "uuid", "group"].map(|key| format!("error: `{key}` is missing"));
    assert_eq!(titles, expected);
}

#[test]
fn no_more_than_the_first_problems_are_shown_and_the_rest_is_counted() {
    let many: Vec<_> = (0..SHOWN_MAX + 10).map(|n| format!("k{n} = 1")).collect();
    let shown = rendered(&format!("{HEAD}{}\n{WEB}", many.join("\n")));
    assert_eq!(shown.matches("error: ").count(), SHOWN_MAX);
    assert!(shown.ends_with("and 10 more"), "{shown}");
}

/// P8, also while the syntax is broken: a credential beside the error stays hidden.
#[test]
fn excerpts_hide_credentials_of_broken_lines_and_of_long_texts() {
    for text in [
        "API_TOKEN = \"hunter2",
        "env = { API_TOKEN = 'hunter2' X = 1 }",
        "command = [\"serve\", \"--token=hunter2\", {]",
        "env = { API_TOKEN = \"\"\"\nhunter2\"\"\" }",
        "command = [\"curl\", \"Authorization: Bearer hunter2\", 3]",
    ] {
        let shown = rendered(&format!("{HEAD}{WEB}{text}\n"));
        assert!(shown.contains("error: ") && !shown.contains("hunter2"), "{shown}");
    }
}

#[test]
fn control_and_direction_characters_of_the_file_stay_out_of_the_terminal() {
    let text = format!("{HEAD}{WEB}\"a\\u001b[31m\u{202e}\" = \"\u{202e}x\"\nrole = \u{1b}[2J\n");
    let shown = rendered(&text);
    assert!(!shown.contains(['\u{1b}', '\u{202e}']), "{shown:?}");
}

#[test]
fn styles_are_added_only_when_asked_for() {
    let error = checked("").expect_err("an empty file is refused");
    assert!(error.render(true).contains('\u{1b}') && !error.render(false).contains('\u{1b}'));
    assert_eq!(error.to_string(), "cluster.toml has 4 problems");
}

#[test]
fn problems_are_plain_values_for_programs() {
    let error = checked(&format!("{HEAD}parallelism = 99\n{WEB}")).expect_err("99 is too many");
    let expected = serde_json::json!([{
        "file": "cluster.toml",
        "line": 4,
        "column": 15,
        "end": { "line": 4, "column": 17 },
        "message": "`parallelism` is too large: 99",
        "hint": "write a whole number from 1 to 32",
    }]);
    assert_eq!(error.to_json(), expected);
}
