//! Reads what a node needs, and refuses what its provider cannot give.

use std::collections::BTreeMap;

use executor::seam::Capabilities;
use reconciler_core::desired::DesiredNodeShape;
use toml::de::DeValue;

use super::{
    diagnostic::{Diagnostic, Report},
    keys,
    quantity::{self, BadQuantity},
    reader::{self, At, Section},
};

/// Label names with this prefix carry identity and fence.
const RESERVED_LABEL: &str = "levelhead";
const MIB_PER_GIB: u64 = 1_024;

/// Reads `shape`; `capabilities` are absent if the provider itself is in doubt.
pub(super) fn read(
    group: &Section<'_>,
    capabilities: Option<&Capabilities>,
    out: &mut Report,
) -> DesiredNodeShape {
    let shape = group.sub("shape", &keys::SHAPE, out);
    if let Some(capabilities) = capabilities {
        check_gaps(&shape, capabilities, out);
    }
    DesiredNodeShape {
        image: image(&shape, out),
        cpu_millis: cpus(&shape, out),
        memory_mib: size(&shape, "memory", 1, out),
        disk_gib: size(&shape, "disk", MIB_PER_GIB, out),
        gpus: shape.whole("gpus", 1..=u32::MAX, out).map(|gpus| gpus.value),
        labels: labels(&shape, out),
    }
}

fn check_gaps(shape: &Section<'_>, capabilities: &Capabilities, out: &mut Report) {
    let kind = capabilities.kind;
    let mut refuse = |key: &str, what: &str, hint: &str| {
        if let Some(value) = shape.raw(key) {
            let message = format!("capability gap: a `{kind}` provider cannot {what}");
            out.push(Diagnostic::new(value.span(), message).hint(hint));
        }
    };
    if !capabilities.images {
        refuse("image", "run images", "remove `image`, or choose a provider that runs images");
    }
    if !capabilities.resources {
        for key in ["cpus", "memory", "disk", "gpus"] {
            let hint = format!("remove `{key}`, or choose a provider that honours it");
            refuse(key, &format!("promise `{key}`"), &hint);
        }
    }
}

fn image(shape: &Section<'_>, out: &mut Report) -> Option<String> {
    let image = shape.text("image", out)?;
    if image.value.is_empty() || image.value.contains(char::is_whitespace) {
        let message = "an image name must not be empty or contain spaces";
        out.push(Diagnostic::new(image.span, message).hint("write \"registry/name:tag\""));
        return None;
    }
    Some(image.value.to_owned())
}

/// Reads a number of processors, in thousandths.
pub(super) fn cpus(shape: &Section<'_>, out: &mut Report) -> Option<u32> {
    let value = shape.raw("cpus")?;
    let number = match value.get_ref() {
        DeValue::Integer(number) => number.to_string(),
        DeValue::String(_) => reader::text(value, "a string", out)?.value.to_owned(),
        DeValue::Float(float) => {
            let wrong = reader::wrong_type(value, "a whole number or a string");
            out.push(wrong.hint(format!("write it in quotes: \"{}\"", float.as_str())));
            return None;
        }
        DeValue::Boolean(_) | DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => {
            out.push(reader::wrong_type(value, "a whole number or a string"));
            return None;
        }
    };
    let at = At { value: number.as_str(), span: value.span() };
    reader::quantity(at, quantity::millicpus, out).map(|cpus| cpus.value)
}

/// Reads a size in units of `unit` mebibytes.
pub(super) fn size(shape: &Section<'_>, key: &str, unit: u64, out: &mut Report) -> Option<u32> {
    let value = shape.raw(key)?;
    if let DeValue::Integer(number) = value.get_ref() {
        let wrong = reader::wrong_type(value, "a size such as \"512 MiB\"");
        out.push(wrong.hint(format!("write the unit: \"{number} MiB\" or \"{number} GiB\"")));
        return None;
    }
    let text = reader::text(value, "a size such as \"512 MiB\"", out)?;
    let read = |text: &str| {
        let size = quantity::mebibytes(text)?;
        let whole = if size % unit == 0 { u32::try_from(size / unit).ok() } else { None };
        whole.ok_or_else(|| BadQuantity {
            message: format!("`{key}` cannot be {text}"),
            hint: "write whole gibibytes for a disk, and no more than 32 bits hold".to_owned(),
        })
    };
    reader::quantity(text, read, out).map(|size| size.value)
}

fn labels(shape: &Section<'_>, out: &mut Report) -> BTreeMap<String, String> {
    let mut labels = BTreeMap::new();
    for (name, value) in shape.text_map("labels", out) {
        let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '/');
        if name.value.is_empty() || name.value.len() > 63 || !name.value.chars().all(legal) {
            let message = format!("`{}` is not a label name", name.value);
            let hint = "use 1 to 63 letters, digits, dots, slashes, hyphens and underscores";
            out.push(Diagnostic::new(name.span, message).hint(hint));
        } else if name.value.starts_with(RESERVED_LABEL) {
            let message = format!("`{}` is reserved", name.value);
            let hint = format!("labels that start with `{RESERVED_LABEL}` carry a node's identity");
            out.push(Diagnostic::new(name.span, message).hint(hint));
        } else {
            labels.insert(name.value.to_owned(), value.value.to_owned());
        }
    }
    labels
}
