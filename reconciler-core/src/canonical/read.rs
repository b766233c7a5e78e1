//! Reading canonical text back: whatever is not the one text of its value is refused.

use alloc::{
    collections::BTreeMap,
    string::{String, ToString},
    vec::Vec,
};

use super::value::{Canon, Key};

/// How deep values may stand within each other: far more than anything here needs, and safe on any stack.
const DEPTH_MAX: usize = 32;

/// Why a text is not canonical JSON of the kinds that are used here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("at byte {at}: {what}")]
pub struct ReadError {
    /// The first byte that does not fit, from 0.
    pub at: usize,
    /// What is wrong with it.
    pub what: &'static str,
}

/// Reads a canonical text.
///
/// # Errors
/// Refuses what is no JSON, what holds numbers, what stands too deep, and any other text than the value's own.
pub fn read(text: &str) -> Result<Canon, ReadError> {
    let mut reader = Reader { text, at: 0 };
    let value = reader.value(0)?;
    if reader.at < text.len() {
        return Err(reader.fails("something follows the value"));
    }
    let own = value.write();
    if own != text {
        let differs = own.bytes().zip(text.bytes()).position(|(one, other)| one != other);
        let at = differs.unwrap_or_else(|| own.len().min(text.len()));
        return Err(ReadError { at, what: "it is written in another than the canonical way" });
    }
    Ok(value)
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    const fn fails(&self, what: &'static str) -> ReadError {
        ReadError { at: self.at, what }
    }

    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn takes(&mut self, word: &str) -> bool {
        let found = self.rest().starts_with(word);
        if found {
            self.at = self.at.saturating_add(word.len());
        }
        found
    }

    fn wants(&mut self, word: &str, what: &'static str) -> Result<(), ReadError> {
        if self.takes(word) { Ok(()) } else { Err(self.fails(what)) }
    }

    fn value(&mut self, depth: usize) -> Result<Canon, ReadError> {
        if depth > DEPTH_MAX {
            return Err(self.fails("values stand too deep within each other"));
        }
        if self.takes("null") {
            return Ok(Canon::Null);
        }
        if self.takes("true") {
            return Ok(Canon::Bool(true));
        }
        if self.takes("false") {
            return Ok(Canon::Bool(false));
        }
        if self.rest().starts_with('"') {
            return Ok(Canon::Text(self.text()?));
        }
        if self.takes("[") {
            return self.list(depth);
        }
        if self.takes("{") {
            return self.object(depth);
        }
        Err(self.fails("no value begins here"))
    }

    fn list(&mut self, depth: usize) -> Result<Canon, ReadError> {
        let mut items = Vec::new();
        if self.takes("]") {
            return Ok(Canon::List(items));
        }
        loop {
            items.push(self.value(depth.saturating_add(1))?);
            if self.takes("]") {
                return Ok(Canon::List(items));
            }
            self.wants(",", "a comma or the end of the list is missing")?;
        }
    }

    fn object(&mut self, depth: usize) -> Result<Canon, ReadError> {
        let mut members = BTreeMap::new();
        if self.takes("}") {
            return Ok(Canon::Object(members));
        }
        loop {
            let key = Key(self.text()?);
            self.wants(":", "a colon is missing")?;
            let value = self.value(depth.saturating_add(1))?;
            if members.insert(key, value).is_some() {
                return Err(self.fails("a name stands twice in one object"));
            }
            if self.takes("}") {
                return Ok(Canon::Object(members));
            }
            self.wants(",", "a comma or the end of the object is missing")?;
        }
    }

    fn text(&mut self) -> Result<String, ReadError> {
        self.wants("\"", "a text is missing")?;
        let mut out = String::new();
        loop {
            let plain = self.rest().find(['"', '\\']);
            let plain = plain.ok_or_else(|| self.fails("a text has no end"))?;
            out.push_str(self.rest().get(..plain).unwrap_or_default());
            self.at = self.at.saturating_add(plain);
            if self.takes("\"") {
                return Ok(out);
            }
            self.at = self.at.saturating_add(1);
            out.push(self.escape()?);
        }
    }

    fn escape(&mut self) -> Result<char, ReadError> {
        let known = [
            ("\"", '"'),
            ("\\", '\\'),
            ("b", '\u{8}'),
            ("t", '\t'),
            ("n", '\n'),
            ("f", '\u{c}'),
            ("r", '\r'),
        ];
        if let Some((_, c)) = known.into_iter().find(|(sign, _)| self.takes(sign)) {
            return Ok(c);
        }
        // The only other escapes in canonical text are control characters: u and four digits.
        let digits = self.rest().strip_prefix('u').and_then(|rest| rest.get(..4));
        let code = digits
            .filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))
            .and_then(|digits| u32::from_str_radix(digits, 16).ok());
        let c = code.and_then(char::from_u32).ok_or_else(|| self.fails("no such escape exists"))?;
        self.at = self.at.saturating_add(5);
        Ok(c)
    }
}

impl Canon {
    /// A member of an object.
    pub fn member(&self, name: &str) -> Option<&Self> {
        let Self::Object(members) = self else { return None };
        members.get(&Key(name.to_string()))
    }

    /// The text, if it is one.
    pub fn as_text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// The members of an object of texts.
    pub fn to_text_map(&self) -> Option<BTreeMap<String, String>> {
        let Self::Object(members) = self else { return None };
        let text =
            |(name, value): (&Key, &Self)| Some((name.0.clone(), value.as_text()?.to_string()));
        members.iter().map(text).collect()
    }

    /// The items, if it is a list.
    pub fn as_list(&self) -> Option<&[Self]> {
        if let Self::List(items) = self { Some(items) } else { None }
    }
}
