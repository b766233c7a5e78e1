//! What the providers of a run have seen of its fences, for whoever puts a journal back.

use std::{fs, io, path::Path};

use reconciler_core::id::Fence;

/// The name of the file in a provider's place that holds the highest fence it has seen, as a decimal number.
///
/// A provider that enforces fences keeps it, so that it outlives the journal.
pub const FENCE_FILE: &str = "fence";

/// The highest fence that any provider with a place in `providers` has seen; zero if none has seen one.
///
/// # Errors
/// Fails if a place cannot be read, and if a file holds no number: then nobody knows how high it was.
pub fn highest_fence(providers: &Path) -> io::Result<Fence> {
    let places = match fs::read_dir(providers) {
        Ok(places) => places,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Fence::default()),
        Err(error) => return Err(error),
    };
    let mut highest = Fence::default();
    for place in places {
        let path = place?.path().join(FENCE_FILE);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        // A file that was made and not written yet has admitted nobody.
        if text.is_empty() {
            continue;
        }
        let number = text.trim().parse().map_err(|_not_a_number| {
            let what = format!("{} holds no fence", path.display());
            io::Error::new(io::ErrorKind::InvalidData, what)
        })?;
        highest = highest.max(Fence::new(number));
    }
    Ok(highest)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::highest_fence;

    /// C16: the highest of all, in either way of writing it; no number is an error, never a zero.
    #[test]
    fn the_highest_fence_of_all_places_counts() {
        let home = tempfile::tempdir().unwrap();
        let providers = home.path().join("providers");
        assert_eq!(highest_fence(&providers).unwrap().get(), 0);
        for (name, text) in [("a", "00000000000000000007"), ("b", "12\n"), ("c", "")] {
            fs::create_dir_all(providers.join(name)).unwrap();
            fs::write(providers.join(name).join("fence"), text).unwrap();
        }
        fs::create_dir(providers.join("none")).unwrap();
        assert_eq!(highest_fence(&providers).unwrap().get(), 12);
        fs::write(providers.join("a/fence"), "seven").unwrap();
        assert!(highest_fence(&providers).unwrap_err().to_string().contains("a/fence"));
    }
}
