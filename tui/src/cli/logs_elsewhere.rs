//! The output of a node whose provider keeps it elsewhere than on this machine.

use std::{collections::BTreeMap, sync::Arc};

use driver::config::ProviderDecl;
use executor::{
    seam::{OutputAsk, ProviderFactory, ProviderPlace},
    secret::{Cleaner, Secrets},
};
use reconciler_core::id::{LogicalNodeId, ProviderName};

use super::{
    context::Context,
    exit::{Exit, Failure},
    logs_shown::show,
};

/// How much is asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wish {
    pub(super) follow: bool,
    pub(super) lines: usize,
}

/// Prints what the providers of the file hold of `slot`; true if that was anything.
pub(super) async fn run(
    context: &Context,
    slot: &LogicalNodeId,
    wish: Wish,
    secrets: &Secrets,
) -> Result<bool, Failure> {
    let mut printed = false;
    let declared = context.loaded.shape.group(&slot.group).map(|group| &group.spec.provider);
    let wanted = |name: &ProviderName| declared.is_none_or(|declared| declared == name);
    for (name, decl) in context.loaded.providers.iter().filter(|(name, _)| wanted(name)) {
        if let Some(factory) = context.catalogue.get(&decl.kind) {
            let one = Source { context, name, decl, factory };
            printed |= one.print(slot, wish, secrets).await?;
        }
    }
    Ok(printed)
}

/// One provider that may hold output.
struct Source<'a> {
    context: &'a Context,
    name: &'a ProviderName,
    decl: &'a ProviderDecl,
    factory: &'a Arc<dyn ProviderFactory>,
}

impl Source<'_> {
    async fn print(
        &self,
        slot: &LogicalNodeId,
        wish: Wish,
        secrets: &Secrets,
    ) -> Result<bool, Failure> {
        let context = self.context;
        let place = ProviderPlace {
            state_dir: context.paths.provider(self.name),
            base_dir: context.base_dir(),
            secrets: secrets.clone(),
        };
        let ask = OutputAsk {
            options: &self.decl.options,
            place: &place,
            run: context.loaded.shape.uuid,
            slot,
            lines: wish.lines,
            follow: wish.follow,
        };
        let mut sources: BTreeMap<String, Shown> = BTreeMap::new();
        let mut sink = |source: &str, bytes: &[u8]| {
            let one = sources
                .entry(source.to_owned())
                .or_insert_with(|| Shown { cleaner: secrets.cleaner(), is_named: false });
            let text = one.cleaner.push(bytes);
            one.show(context, source, &text);
        };
        let read = self.factory.output(ask, &mut sink).await;
        for (source, one) in &mut sources {
            let text = one.cleaner.finish();
            one.show(context, source, &text);
        }
        read.map(|()| !sources.is_empty()).map_err(|why| {
            Failure::new(Exit::Unavailable, format!("the output of {slot} cannot be read: {why}"))
        })
    }
}

/// What was printed of one source so far.
struct Shown {
    cleaner: Cleaner,
    /// True once its name stands before its text.
    is_named: bool,
}

impl Shown {
    fn show(&mut self, context: &Context, source: &str, text: &str) {
        show(context, source.as_ref(), text, !self.is_named);
        self.is_named |= !text.is_empty();
    }
}
