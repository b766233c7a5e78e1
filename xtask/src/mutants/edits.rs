//! The edits that make one text of all mutants of a file: at each place the number that was chosen decides.
//!
//! What stands there is worked out once and read by each variant, so that the text grows with the number of mutants
//! and not with how deep they stand in each other. Places in macros are left as they are: what a macro makes of its
//! words is its own. So are constants, which are worked out before anything can be chosen.

use super::{
    listed::{Genre, Mutant},
    splice::{Edit, Id, Part},
};
use anyhow::{Context, Result};
use std::{collections::BTreeMap, ops::Range};
use syn::{
    Arm, BinOp, Block, Expr, ExprBinary, ExprMatch, ExprStruct, ExprUnary, Member,
    spanned::Spanned,
    visit::{self, Visit},
};

/// The function that says whether the mutant of a number is chosen.
const CHOSEN: &str = "crate::mutants_switch::on";

/// The edits of one file for `mutants`, which are of it.
pub(crate) fn of(source: &str, mutants: &[(Id, &Mutant)]) -> Result<Vec<Edit>> {
    let parsed = syn::parse_file(source).context("it cannot be parsed")?;
    let mut wanted: BTreeMap<usize, Vec<(Id, &Mutant)>> = BTreeMap::new();
    for (id, mutant) in mutants {
        let offset = mutant.offset(source).with_context(|| format!("no place: {}", mutant.name))?;
        wanted.entry(offset).or_default().push((*id, mutant));
    }
    let mut finder = Finder { source, wanted, edits: Vec::new() };
    finder.visit_file(&parsed);
    Ok(finder.edits)
}

struct Finder<'a> {
    source: &'a str,
    wanted: BTreeMap<usize, Vec<(Id, &'a Mutant)>>,
    edits: Vec<Edit>,
}

type Variants<'a> = Vec<(Id, &'a str)>;

fn range(node: &impl Spanned) -> Range<usize> {
    node.span().byte_range()
}

fn common(text: impl Into<String>) -> Part {
    Part::Text(text.into(), Vec::new())
}

/// `if` the one is chosen, this, `else` …
fn variant(id: Id, text: &str) -> Part {
    Part::Text(format!("if {CHOSEN}({id}) {{ {text} }} else "), vec![id])
}

impl<'a> Finder<'a> {
    fn variants(&self, offset: usize, genre: Genre) -> Variants<'a> {
        let here = self.wanted.get(&offset).into_iter().flatten();
        let here = here.filter(|(_, mutant)| mutant.genre == genre);
        here.map(|(id, mutant)| (*id, mutant.replacement.as_str())).collect()
    }

    fn text(&self, range: Range<usize>) -> &'a str {
        self.source.get(range).unwrap_or_default()
    }

    fn body(&mut self, block: &Block) {
        let Some(first) = block.stmts.first() else { return };
        let variants = self.variants(range(first).start, Genre::FnValue);
        if variants.is_empty() {
            return;
        }
        let leave = |(id, value): (Id, &str)| {
            Part::Text(format!(" if {CHOSEN}({id}) {{ return {value}; }}"), vec![id])
        };
        let open = block.brace_token.span.open().byte_range();
        let parts = [Part::Kept(open.clone())].into_iter();
        let parts = parts.chain(variants.into_iter().map(leave)).collect();
        self.edits.push(Edit { range: open, parts });
    }

    fn binary(&mut self, node: &ExprBinary) {
        let operator = range(&node.op);
        let variants = self.variants(operator.start, Genre::BinaryOperator);
        if variants.is_empty() || is_chain(node) {
            return;
        }
        let Some(kind) = kind(&node.op) else { return };
        let (left, right) = (range(&*node.left), range(&*node.right));
        let stands = self.text(operator);
        let parts = match kind {
            Kind::Lazy => lazy(&variants, stands, left, right),
            Kind::Compared => {
                let by = |op: &str| format!("*l {op} *r");
                let head = [common("(match (&("), Part::Kept(left), common("), &(")];
                let values = [Part::Kept(right), common(")) { (l, r) => ")];
                head.into_iter().chain(values).chain(chosen(&variants, stands, by, ")")).collect()
            }
            Kind::Value => {
                let by = |op: &str| format!("l {op} r");
                let head = [common("(match ("), Part::Kept(left), common(", ")];
                let values = [Part::Kept(right), common(") { (l, r) => ")];
                head.into_iter().chain(values).chain(chosen(&variants, stands, by, ")")).collect()
            }
            Kind::Assigned => {
                let by = |op: &str| format!("*l {op} r");
                let head =
                    [common("match ("), Part::Kept(right), common(") { r => { let l = &mut (")];
                let values = [Part::Kept(left), common("); ")];
                head.into_iter().chain(values).chain(chosen(&variants, stands, by, " }")).collect()
            }
        };
        self.edits.push(Edit { range: range(node), parts });
    }

    fn unary(&mut self, node: &ExprUnary) {
        let variants = self.variants(range(&node.op).start, Genre::UnaryOperator);
        let Some((id, _)) = variants.first() else { return };
        let value = range(&*node.expr);
        let stands = self.text(range(&node.op));
        let parts = vec![
            common("(match ("),
            Part::Kept(value),
            common(") { v => "),
            variant(*id, "v"),
            common(format!("{{ {stands}v }} }})")),
        ];
        self.edits.push(Edit { range: range(node), parts });
    }

    fn arm(&mut self, arm: &Arm) {
        let whole = self.variants(range(arm).start, Genre::MatchArm);
        let left_out: Vec<String> =
            whole.iter().map(|(id, _)| format!("!{CHOSEN}({id})")).collect();
        let ids: Vec<Id> = whole.iter().map(|(id, _)| *id).collect();
        let Some((_, guard)) = &arm.guard else {
            if !ids.is_empty() {
                let pattern = range(&arm.pat);
                let guard = Part::Text(format!(" if {}", left_out.join(" && ")), ids);
                let parts = vec![Part::Kept(pattern.clone()), guard];
                self.edits.push(Edit { range: pattern, parts });
            }
            return;
        };
        let guard = range(&**guard);
        let variants = self.variants(guard.start, Genre::MatchArmGuard);
        if variants.is_empty() && whole.is_empty() {
            return;
        }
        let left_out: Vec<String> = left_out.iter().map(|not| format!("{not} && ")).collect();
        let mut parts = vec![Part::Text(format!("{}(", left_out.concat()), ids)];
        parts.extend(variants.into_iter().map(|(id, value)| variant(id, value)));
        parts.extend([common("{ "), Part::Kept(guard.clone()), common(" })")]);
        self.edits.push(Edit { range: guard, parts });
    }

    /// Without an arm a match may lack something, and what is said of that is said of what is matched.
    fn arms(&mut self, node: &ExprMatch) {
        let left_out = |arm: &Arm| self.variants(range(arm).start, Genre::MatchArm);
        let ids: Vec<Id> = node.arms.iter().flat_map(left_out).map(|(id, _)| id).collect();
        if !ids.is_empty() {
            let matched = range(&*node.expr);
            self.edits
                .push(Edit { range: matched.clone(), parts: vec![Part::Blamed(matched, ids)] });
        }
    }

    /// Without a field the expression is another one; the few of them are written out.
    fn fields(&mut self, node: &ExprStruct) {
        let mut parts = vec![common("(")];
        for field in &node.fields {
            for (id, _) in self.variants(range(field).start, Genre::StructField) {
                parts.push(variant(id, &self.without(node, &field.member)));
            }
        }
        if parts.len() > 1 {
            parts.extend([common("{ "), Part::Kept(range(node)), common(" })")]);
            self.edits.push(Edit { range: range(node), parts });
        }
    }

    fn without(&self, node: &ExprStruct, member: &Member) -> String {
        let others = node.fields.iter().filter(|field| field.member != *member);
        let others: Vec<String> =
            others.map(|field| format!("{}, ", self.text(range(field)))).collect();
        let base = node.rest.as_ref().map_or("", |base| self.text(range(&**base)));
        format!("{} {{ {}..{base} }}", self.text(range(&node.path)), others.concat())
    }
}

/// Which variant is taken of what `l` and `r` stand for; `end` closes what was opened before.
fn chosen(
    variants: &[(Id, &str)],
    stands: &str,
    by: impl Fn(&str) -> String,
    end: &str,
) -> Vec<Part> {
    let choices = variants.iter().map(|(id, op)| variant(*id, &by(op)));
    choices.chain([common(format!("{{ {} }} }}{end}", by(stands)))]).collect()
}

/// The right side is worked out only where it counts. Both signs give back the left side where it is what they
/// seek, false or true, and the right side otherwise.
fn lazy(
    variants: &[(Id, &str)],
    stands: &str,
    left: Range<usize>,
    right: Range<usize>,
) -> Vec<Part> {
    let seeks = |op: &str| if op == "&&" { "false" } else { "true" };
    let mut parts = vec![common("(match ("), Part::Kept(left), common(", ")];
    for (id, op) in variants {
        if matches!(*op, "&&" | "||") {
            parts.push(variant(*id, seeks(op)));
        }
    }
    let seeks = seeks(stands);
    parts.push(common(format!("{{ {seeks} }}) {{ (l, s) => if l == s {{ l }} else {{ ")));
    parts.extend([Part::Kept(right), common(" } })")]);
    parts
}

enum Kind {
    Lazy,
    Compared,
    Value,
    Assigned,
}

/// None for a sign that the parser of this version does not know.
fn kind(op: &BinOp) -> Option<Kind> {
    Some(match op {
        BinOp::And(_) | BinOp::Or(_) => Kind::Lazy,
        BinOp::Eq(_) | BinOp::Ne(_) | BinOp::Lt(_) | BinOp::Le(_) | BinOp::Gt(_) | BinOp::Ge(_) => {
            Kind::Compared
        }
        BinOp::Add(_)
        | BinOp::Sub(_)
        | BinOp::Mul(_)
        | BinOp::Div(_)
        | BinOp::Rem(_)
        | BinOp::BitXor(_)
        | BinOp::BitAnd(_)
        | BinOp::BitOr(_)
        | BinOp::Shl(_)
        | BinOp::Shr(_) => Kind::Value,
        BinOp::AddAssign(_)
        | BinOp::SubAssign(_)
        | BinOp::MulAssign(_)
        | BinOp::DivAssign(_)
        | BinOp::RemAssign(_)
        | BinOp::BitXorAssign(_)
        | BinOp::BitAndAssign(_)
        | BinOp::BitOrAssign(_)
        | BinOp::ShlAssign(_)
        | BinOp::ShrAssign(_) => Kind::Assigned,
        _ => return None,
    })
}

/// True for a condition that binds names: it has no other sign between its parts.
fn is_chain(node: &ExprBinary) -> bool {
    let binds = |side: &Expr| {
        matches!(side, Expr::Let(_)) || matches!(side, Expr::Binary(inner) if is_chain(inner))
    };
    matches!(node.op, BinOp::And(_)) && (binds(&node.left) || binds(&node.right))
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item_fn(&mut self, node: &'ast syn::ItemFn) {
        self.body(&node.block);
        visit::visit_item_fn(self, node);
    }

    fn visit_impl_item_fn(&mut self, node: &'ast syn::ImplItemFn) {
        self.body(&node.block);
        visit::visit_impl_item_fn(self, node);
    }

    fn visit_trait_item_fn(&mut self, node: &'ast syn::TraitItemFn) {
        if let Some(block) = &node.default {
            self.body(block);
        }
        visit::visit_trait_item_fn(self, node);
    }

    fn visit_item_const(&mut self, _node: &'ast syn::ItemConst) {}

    fn visit_impl_item_const(&mut self, _node: &'ast syn::ImplItemConst) {}

    fn visit_expr_binary(&mut self, node: &'ast ExprBinary) {
        self.binary(node);
        visit::visit_expr_binary(self, node);
    }

    fn visit_expr_unary(&mut self, node: &'ast ExprUnary) {
        self.unary(node);
        visit::visit_expr_unary(self, node);
    }

    fn visit_expr_match(&mut self, node: &'ast ExprMatch) {
        self.arms(node);
        visit::visit_expr_match(self, node);
    }

    fn visit_arm(&mut self, node: &'ast Arm) {
        self.arm(node);
        visit::visit_arm(self, node);
    }

    fn visit_expr_struct(&mut self, node: &'ast ExprStruct) {
        self.fields(node);
        visit::visit_expr_struct(self, node);
    }
}

#[cfg(test)]
mod tests {
    use super::of;
    use crate::mutants::{
        listed::{Genre, tests::mutant},
        splice::Spliced,
    };

    fn switched(source: &str, genre: Genre, at: &str, replacement: &str) -> String {
        let one = mutant(source, genre, at, replacement);
        let edits = of(source, &[(7, &one)]).expect("a text");
        let text = Spliced::of(source, edits).text.replace(super::CHOSEN, "on");
        syn::parse_file(&text).expect("what came of it can be parsed");
        text
    }

    #[test]
    fn a_function_leaves_at_once() {
        let text = switched("fn f() -> u8 { 3 + 4 }", Genre::FnValue, "3", "0");
        assert_eq!(text, "fn f() -> u8 { if on(7) { return 0; } 3 + 4 }");
    }

    #[test]
    fn a_sign_is_chosen_between_values_that_are_worked_out_once() {
        let genre = Genre::BinaryOperator;
        let text = switched("fn f() -> bool { a() < b() }", genre, "<", "<=");
        let want = "(match (&(a()), &(b())) { (l, r) => if on(7) { *l <= *r } else { *l < *r } })";
        assert_eq!(text, format!("fn f() -> bool {{ {want} }}"));
        let text = switched("fn f() { x.y += b() }", genre, "+=", "-=");
        let want = "match (b()) { r => { let l = &mut (x.y); \
                    if on(7) { *l -= r } else { *l += r } } }";
        assert_eq!(text, format!("fn f() {{ {want} }}"));
        let text = switched("fn f() -> bool { a() && b() }", genre, "&&", "||");
        let want = "(match (a(), if on(7) { true } else { false }) \
                    { (l, s) => if l == s { l } else { b() } })";
        assert_eq!(text, format!("fn f() -> bool {{ {want} }}"));
    }

    #[test]
    fn a_condition_that_binds_names_stands_as_it_is() {
        let source = "fn f() { if let Some(x) = y() && x { g() } }";
        assert_eq!(switched(source, Genre::BinaryOperator, "&&", "||"), source);
    }

    #[test]
    fn an_arm_is_left_out_by_its_guard() {
        let text = switched("fn f() { match x { 0 => a(), _ => b() } }", Genre::MatchArm, "0", "");
        assert_eq!(text, "fn f() { match x { 0 if !on(7) => a(), _ => b() } }");
        let source = "fn f() { match x { y if y > z => a(), _ => b() } }";
        let text = switched(source, Genre::MatchArmGuard, "y > z", "true");
        assert!(text.contains("y if (if on(7) { true } else { y > z }) => a()"), "{text}");
    }

    #[test]
    fn a_field_is_taken_from_the_base() {
        let text = switched("fn f() -> S { S { a: 1, b: 2, ..c() } }", Genre::StructField, "a", "");
        let want = "(if on(7) { S { b: 2, ..c() } } else { S { a: 1, b: 2, ..c() } })";
        assert_eq!(text, format!("fn f() -> S {{ {want} }}"));
    }
}
