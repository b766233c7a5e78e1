//! What can be asked for by its name beside the draft: what workloads do, what updates do, which groups go. Each is
//! planned, shown and confirmed like a draft.

use driver::view::Edit;
use reconciler_core::id::GroupId;

/// What can be done to an update.
pub(crate) const UPDATE_WAYS: [&str; 3] = ["pause", "resume", "rollback"];

/// What `verb` asks for with the `words` behind it; nothing if they make no sense there.
pub(crate) fn edit(verb: &str, words: &str) -> Option<Edit> {
    let names: Vec<&str> = words.split_whitespace().collect();
    let subjects = || names.iter().map(ToString::to_string).collect::<Vec<String>>();
    let groups = |names: &[&str]| {
        let all: Result<Vec<GroupId>, _> = names.iter().map(|name| name.parse()).collect();
        all.ok().filter(|all| !all.is_empty())
    };
    match verb {
        "stop" => Some(Edit::Stop { subjects: subjects() }),
        "start" => Some(Edit::Start { subjects: subjects() }),
        "restart" => Some(Edit::Restart { subjects: subjects() }),
        "run" => Some(Edit::Run { groups: groups(&names)? }),
        "rm" => Some(Edit::Remove { groups: groups(&names)? }),
        "update" => {
            let (way, names) = names.split_last()?;
            let groups = groups(names)?;
            match *way {
                "pause" => Some(Edit::Pause { groups }),
                "resume" => Some(Edit::Resume { groups }),
                "rollback" => Some(Edit::Rollback { groups }),
                _ => None,
            }
        }
        _ => None,
    }
}

/// An edit in the words that ask for it; nothing for what is drafted.
pub(crate) fn told(edit: &Edit) -> Option<String> {
    let listed = |groups: &[GroupId]| {
        let names: Vec<&str> = groups.iter().map(GroupId::as_str).collect();
        names.join(" ")
    };
    match edit {
        Edit::None | Edit::Counts { .. } => None,
        Edit::File { .. } => Some("the file".to_owned()),
        Edit::Down => Some("down".to_owned()),
        Edit::Stop { subjects } => Some(format!("stop {}", subjects.join(" "))),
        Edit::Start { subjects } => Some(format!("start {}", subjects.join(" "))),
        Edit::Restart { subjects } => Some(format!("restart {}", subjects.join(" "))),
        Edit::Run { groups } => Some(format!("run {}", listed(groups))),
        Edit::Remove { groups } => Some(format!("rm {}", listed(groups))),
        Edit::Pause { groups } => Some(format!("update {} pause", listed(groups))),
        Edit::Resume { groups } => Some(format!("update {} resume", listed(groups))),
        Edit::Rollback { groups } => Some(format!("update {} rollback", listed(groups))),
        Edit::Recover { operation, verb } => {
            Some(format!("recovery {} {operation}", verb.as_str()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{edit, told};

    #[test]
    fn what_is_asked_for_is_told_in_the_same_words() {
        for (verb, words) in [
            ("stop", "web-0 db"),
            ("start", "web"),
            ("restart", "web-0"),
            ("run", "batch"),
            ("rm", "web db"),
            ("update", "web pause"),
            ("update", "web db rollback"),
        ] {
            let asked = edit(verb, words).unwrap();
            assert_eq!(told(&asked), Some(format!("{verb} {words}")));
        }
    }

    #[test]
    fn what_names_no_group_asks_for_nothing() {
        for (verb, words) in [("run", ""), ("rm", "No Group"), ("update", "web"), ("update", "x y")]
        {
            assert_eq!(edit(verb, words), None, "{verb} {words}");
        }
    }
}
