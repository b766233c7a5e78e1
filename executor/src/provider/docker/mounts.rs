//! What of outside stands in a node's file system: volumes that live with the lease or beyond it, and directories of
//! the engine's machine.

use std::collections::HashMap;

use bollard::models::{Mount, MountType, MountVolumeOptions};

use super::{options::Options, volumes::Volume};
use reconciler_core::id::Uuid;

/// The engine's name of a volume of one attempt.
pub(super) fn volume_name(volume: &Volume, attempt: Uuid) -> String {
    if volume.keep {
        return volume.name.clone();
    }
    format!("levelhead-{attempt}-{}", volume.name)
}

/// What stands in the nodes of an attempt; `labels` mark the volumes that go with it.
pub(super) fn mounts(
    options: &Options,
    attempt: Uuid,
    labels: &HashMap<String, String>,
) -> Vec<Mount> {
    let volumes = options.volumes.iter().map(|volume| Mount {
        target: Some(volume.path.clone()),
        source: Some(volume_name(volume, attempt)),
        typ: Some(MountType::VOLUME),
        read_only: Some(volume.read_only),
        volume_options: (!volume.keep).then(|| MountVolumeOptions {
            labels: Some(labels.clone()),
            ..MountVolumeOptions::default()
        }),
        ..Mount::default()
    });
    let binds = options.binds.iter().map(|bind| Mount {
        target: Some(bind.path.clone()),
        source: Some(bind.source.clone()),
        typ: Some(MountType::BIND),
        read_only: Some(bind.read_only),
        ..Mount::default()
    });
    volumes.chain(binds).collect()
}
