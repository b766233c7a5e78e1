//! Whether edits may be made now.

use crate::console::model::Model;

/// False, and says why, if nothing may be edited.
pub(super) fn may_edit(model: &mut Model) -> bool {
    if model.options.read_only {
        model.flash("read-only: this console was started so");
    } else if model.past.is_some() {
        let key = model.keys("Esc");
        model.flash(format!(
            "this is the past: nothing changes from here; {key} leads to the present"
        ));
    } else if !model.is_linked() {
        model.flash("no link to the driver: edits wait, the draft is kept");
    } else {
        return true;
    }
    false
}
