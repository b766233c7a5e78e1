//! The keys as they are bound in this console: the table, with what an operator changed in it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{
    intent::{Context, Intent, Scope, Typing},
    names,
    table::{Binding, TABLE},
};
use crate::console::message::Key;

/// One binding as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bound {
    /// What the table says of it.
    pub(crate) of: &'static Binding,
    /// Its keys.
    pub(crate) keys: Vec<Key>,
    /// How they are written, with those of the lines that the help tells together with it.
    pub(crate) shown: String,
}

/// Other keys for one action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remap {
    /// The scope's name.
    pub scope: String,
    /// The action's name.
    pub action: String,
    /// The keys, in place of those of the table.
    pub keys: Vec<Key>,
}

/// Which key means what, where. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keymap {
    bound: Arc<[Bound]>,
    remaps: Arc<[Remap]>,
}

impl Default for Keymap {
    fn default() -> Self {
        Self::made(&[])
    }
}

/// Why keys cannot be bound so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RemapError {
    /// There is no such scope.
    #[error("there are no keys called `{scope}`; known are: {known}")]
    Scope {
        /// The name.
        scope: String,
        /// Every name.
        known: String,
    },
    /// The scope has no such action.
    #[error("`{action}` is no action of `{scope}`; known are: {known}")]
    Action {
        /// The scope.
        scope: String,
        /// The name.
        action: String,
        /// Every name.
        known: String,
    },
    /// The action keeps its key.
    #[error("`{action}` keeps its key, so that there is always a way out")]
    Fixed {
        /// The action.
        action: String,
    },
    /// No key is left.
    #[error("`{action}` is left without a key")]
    Keyless {
        /// The action.
        action: String,
    },
    /// The key never comes, or means something else to terminals.
    #[error("{key} belongs to the terminal and cannot be bound")]
    Reserved {
        /// The key.
        key: String,
    },
    /// A key that erases must not do more.
    #[error("Backspace only erases")]
    Erases,
    /// The key is text there.
    #[error("{key} is typed as text where `{action}` works")]
    Text {
        /// The key.
        key: String,
        /// The action.
        action: String,
    },
    /// One key means two things.
    #[error("{key} means `{other}` of `{scope}` as well")]
    Conflict {
        /// The key.
        key: String,
        /// The other action.
        other: String,
        /// Its scope.
        scope: String,
    },
}

impl Keymap {
    /// The table with these changes.
    ///
    /// # Errors
    /// Every change that cannot be, with its place in `remaps`.
    pub fn with(remaps: &[Remap]) -> Result<Self, Vec<(usize, RemapError)>> {
        let mut errors = Vec::new();
        for (at, remap) in remaps.iter().enumerate() {
            errors.extend(check(remap).err().map(|error| (at, error)));
        }
        if errors.is_empty() {
            let made = Self::made(remaps);
            errors = made.conflicts();
            if errors.is_empty() {
                return Ok(made);
            }
        }
        errors.sort_by_key(|(at, _)| *at);
        errors.dedup();
        Err(errors)
    }

    fn made(remaps: &[Remap]) -> Self {
        let change = |binding: &Binding| {
            let named = |remap: &&Remap| {
                remap.scope == binding.scope.name() && remap.action == names::of(binding.intent)
            };
            remaps.iter().find(named)
        };
        let keys = |binding: &'static Binding| match change(binding) {
            Some(remap) => remap.keys.clone(),
            None => binding.keys.to_vec(),
        };
        let mut bound: Vec<Bound> = Vec::new();
        let mut rest = TABLE;
        while let Some((head, behind)) = rest.split_first() {
            // Lines without a text of their own are told by the one before them.
            let own = behind.iter().take_while(|it| it.shown.is_empty()).count();
            let (tail, next) = behind.split_at_checked(own).unwrap_or((behind, &[]));
            let together = || std::iter::once(head).chain(tail);
            let shown = if together().any(|it| change(it).is_some()) {
                let words = together().map(|it| keys(it).iter().map(Key::to_string).collect());
                words.collect::<Vec<Vec<String>>>().concat().join(" ")
            } else {
                head.shown.to_owned()
            };
            bound.push(Bound { of: head, keys: keys(head), shown });
            let rest_of = |of| Bound { of, keys: keys(of), shown: String::new() };
            bound.extend(tail.iter().map(rest_of));
            rest = next;
        }
        Self { bound: bound.into(), remaps: remaps.into() }
    }

    /// What an operator changed.
    pub fn remaps(&self) -> &[Remap] {
        &self.remaps
    }

    /// What `key` means in `context`.
    pub(crate) fn intent(&self, context: Context, key: Key) -> Option<Intent> {
        let scopes = context.scopes().iter();
        let bound = scopes.flat_map(|scope| self.of_scope(*scope));
        let bound = bound.into_iter().find(|bound| bound.keys.contains(&key));
        match (bound, key) {
            (Some(bound), _) => Some(bound.of.intent),
            (None, Key::Char(c)) if context.takes_text() => Some(Intent::Text(Typing::Char(c))),
            (None, _) => None,
        }
    }

    /// The bindings of a scope that an operator may use, in the order of the table.
    pub(crate) fn bindings(&self, scope: Scope, read_only: bool) -> impl Iterator<Item = &Bound> {
        self.of_scope(scope).filter(move |bound| !(read_only && bound.of.edits))
    }

    /// Keys that mean something in `context` usually, as they are written here: `j k` where nobody changed them.
    pub(crate) fn told(&self, context: Context, usual: &str) -> String {
        if self.remaps.is_empty() {
            return usual.to_owned();
        }
        let words = usual.split(' ').map(|word| {
            let key = word.parse::<Key>().ok();
            let scopes = context.scopes().iter().flat_map(|scope| self.of_scope(*scope));
            let mut bound =
                scopes.filter(|bound| key.is_some_and(|key| bound.of.keys.contains(&key)));
            let bound =
                bound.next().filter(|bound| key.is_some_and(|key| !bound.keys.contains(&key)));
            bound
                .and_then(|bound| bound.keys.first())
                .map_or_else(|| word.to_owned(), Key::to_string)
        });
        words.collect::<Vec<_>>().join(" ")
    }

    /// Every binding, scope by scope, with its names: those of its scope and its action, and true where an operator
    /// changed it.
    pub fn listed(&self) -> impl Iterator<Item = (&'static str, &'static str, &[Key], bool)> {
        let all = Scope::ALL.into_iter().flat_map(|scope| self.of_scope(scope));
        all.map(|bound| {
            let (scope, action) = (bound.of.scope.name(), names::of(bound.of.intent));
            let changed = self.remaps.iter().any(|it| it.scope == scope && it.action == action);
            (scope, action, bound.keys.as_slice(), changed)
        })
    }

    fn of_scope(&self, scope: Scope) -> impl Iterator<Item = &Bound> {
        self.bound.iter().filter(move |bound| bound.of.scope == scope)
    }

    /// Keys that mean two things in one context, each with the place of a change that has a part in it.
    fn conflicts(&self) -> Vec<(usize, RemapError)> {
        let mut errors = Vec::new();
        for context in Context::ALL {
            let scopes = context.scopes().iter();
            let all: Vec<&Bound> = scopes.flat_map(|scope| self.of_scope(*scope)).collect();
            for (at, one) in all.iter().enumerate() {
                for other in all.iter().skip(at.saturating_add(1)) {
                    let both = one.keys.iter().find(|key| other.keys.contains(key));
                    errors.extend(both.and_then(|key| self.conflict(*key, one, other)));
                }
            }
        }
        errors
    }

    fn conflict(&self, key: Key, one: &Bound, other: &Bound) -> Option<(usize, RemapError)> {
        let place = |bound: &Bound| {
            let (scope, action) = (bound.of.scope.name(), names::of(bound.of.intent));
            self.remaps.iter().position(|it| it.scope == scope && it.action == action)
        };
        let (at, other) = match (place(one), place(other)) {
            (Some(first), Some(second)) if first > second => (first, other),
            (_, Some(second)) => (second, one),
            (Some(first), None) => (first, other),
            (None, None) => return None,
        };
        let (other, scope) = (names::of(other.of.intent), other.of.scope.name());
        let (key, other, scope) = (key.to_string(), other.to_owned(), scope.to_owned());
        Some((at, RemapError::Conflict { key, other, scope }))
    }
}

/// Checks a change by itself.
fn check(remap: &Remap) -> Result<(), RemapError> {
    let Remap { scope, action, keys } = remap;
    let listed = |names: Vec<&str>| names.join(", ");
    let Some(of) = Scope::ALL.into_iter().find(|it| it.name() == scope) else {
        let known = listed(Scope::ALL.map(Scope::name).to_vec());
        return Err(RemapError::Scope { scope: scope.clone(), known });
    };
    let own = || TABLE.iter().filter(|binding| binding.scope == of);
    let Some(binding) = own().find(|binding| names::of(binding.intent) == action) else {
        let known = listed(own().map(|binding| names::of(binding.intent)).collect());
        return Err(RemapError::Action { scope: scope.clone(), action: action.clone(), known });
    };
    if names::is_fixed(binding.intent) && keys != binding.keys {
        return Err(RemapError::Fixed { action: action.clone() });
    }
    if keys.is_empty() {
        return Err(RemapError::Keyless { action: action.clone() });
    }
    let erases = binding.intent == Intent::Text(Typing::Erase);
    for key in keys {
        if key.is_reserved() {
            return Err(RemapError::Reserved { key: key.to_string() });
        }
        if *key == Key::Backspace && !erases {
            return Err(RemapError::Erases);
        }
        let in_text =
            Context::ALL.into_iter().any(|it| it.takes_text() && it.scopes().contains(&of));
        if in_text && matches!(key, Key::Char(_)) {
            return Err(RemapError::Text { key: key.to_string(), action: action.clone() });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::console::{keymap::Look, layout::Pane};

    fn remap(scope: &str, action: &str, keys: &[Key]) -> Remap {
        Remap { scope: scope.to_owned(), action: action.to_owned(), keys: keys.to_vec() }
    }

    #[test]
    fn another_key_takes_the_place_of_the_old_one() {
        let map = Keymap::with(&[remap("panes", "problems", &[Key::Char('z')])]).unwrap();
        let fleet = Context::Browse(Pane::Fleet);
        assert_eq!(map.intent(fleet, Key::Char('z')), Some(Intent::Look(Look::Problems)));
        assert_eq!(map.intent(fleet, Key::Char('x')), None);
        assert_eq!(map.told(fleet, "x j Esc"), "z j Esc");
        // What changed hands is free for another.
        let both = [
            remap("panes", "problems", &[Key::Char('t')]),
            remap("panes", "zone", &[Key::Char('x')]),
        ];
        assert!(Keymap::with(&both).is_ok());
    }

    #[test]
    fn the_help_tells_the_new_keys_of_lines_that_it_tells_together() {
        let map = Keymap::with(&[remap("counts", "fewer", &[Key::Char('_')])]).unwrap();
        let shown = map.bindings(Scope::Counts, false).next().map(|bound| bound.shown.as_str());
        assert_eq!(shown, Some("+ _"));
        let plain = Keymap::default();
        assert_eq!(plain.bindings(Scope::Counts, false).next().unwrap().shown, "+ -");
    }

    /// A change, and whether an error is the one that it must meet.
    type Case = (Remap, fn(&RemapError) -> bool);

    #[test]
    fn what_cannot_be_bound_is_refused_with_its_place() {
        let cases: [Case; 9] = [
            (remap("pains", "plan", &[Key::Tab]), |e| matches!(e, RemapError::Scope { .. })),
            (remap("panes", "plam", &[Key::Tab]), |e| matches!(e, RemapError::Action { .. })),
            (remap("always", "interrupt", &[Key::Ctrl('x')]), |e| {
                matches!(e, RemapError::Fixed { .. })
            }),
            (remap("panes", "plan", &[]), |e| matches!(e, RemapError::Keyless { .. })),
            (remap("panes", "plan", &[Key::Ctrl('b')]), |e| {
                matches!(e, RemapError::Reserved { .. })
            }),
            (remap("panes", "plan", &[Key::Backspace]), |e| matches!(e, RemapError::Erases)),
            (remap("typed", "replan", &[Key::Char('r')]), |e| matches!(e, RemapError::Text { .. })),
            (remap("scroll", "up", &[Key::Char('i')]), |e| matches!(e, RemapError::Text { .. })),
            (
                remap("panes", "plan", &[Key::Char('x')]),
                |e| matches!(e, RemapError::Conflict { other, .. } if other == "problems"),
            ),
        ];
        for (bad, is_so) in cases {
            let errors = Keymap::with(std::slice::from_ref(&bad)).unwrap_err();
            assert!(
                errors.iter().any(|(at, error)| *at == 0 && is_so(error)),
                "{bad:?} {errors:?}"
            );
        }
    }

    #[test]
    fn every_binding_has_a_name_of_its_own() {
        let map = Keymap::default();
        let mut names: Vec<_> = map.listed().map(|(scope, action, ..)| (scope, action)).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
        assert!(names.iter().all(|(scope, action)| !scope.is_empty() && !action.is_empty()));
    }
}
