//! What a contract says of containment: roles of arguments, trust of fields, and the data they are fields of.

use serde_json::Value;

use super::schema::{Schema, resolve};
use super::trust::{
    ArgumentRole, FieldType, Label, OutputField, OutputFormat, Trust, exact, inside, nearest, overlaps,
    segments,
};
use super::{ContractError, ToolContract, ToolEffect};

impl ToolContract {
    /// What an argument of a write decides: the place of a value in the input, as a JSON pointer. A value that holds
    /// several arguments decides what the gravest of them does.
    pub fn role_at(&self, place: &str) -> ArgumentRole {
        let own = nearest(&self.arguments, place, |role| *role).unwrap_or_default();
        own.max(inside(&self.arguments, place, |role| *role).unwrap_or(ArgumentRole::Content))
    }

    /// Whether a value at a place of a read's input leaves for a place which it names itself.
    pub fn is_egress(&self, place: &str) -> bool {
        self.egress.iter().any(|declared| overlaps(declared, place))
    }

    /// The label of a part of the output of a call whose input stands in a plan. `*` stands for an item that is not
    /// known yet. Without data the text is the whole.
    pub(in crate::contract) fn label_at(&self, place: &str) -> Label {
        let label = |field: &OutputField| match (field.trust, field.kind) {
            (Trust::Trusted, _) => Label::System,
            (Trust::Untrusted, FieldType::Text) => Label::Copied,
            (Trust::Untrusted, _) => Label::Typed,
        };
        let own = OutputField { trust: self.trust, kind: FieldType::Text };
        let text = label(&own);
        let own = nearest(&self.fields, place, label).unwrap_or(text);
        // Without data the text stands for the whole.
        let own = if place.is_empty() { own.max(text) } else { own };
        let whole = own.max(inside(&self.fields, place, label).unwrap_or_default());
        // A type is that of one field, and not of what holds it or stands in it.
        let is_field = exact(&self.fields, place).is_some();
        if whole == Label::Typed && !is_field { Label::Copied } else { whole }
    }

    /// What a field of the output looks like, as far as that is declared.
    pub(in crate::contract) fn type_at(&self, place: &str) -> Option<FieldType> {
        exact(&self.fields, place).map(|field| field.kind).filter(|kind| *kind != FieldType::Text)
    }

    /// Whether reading what a call returned taints a run: all of it is trusted, or some of it anyone may have
    /// written. A text is trusted with the data that it was parsed into.
    pub fn taints(&self, text: &str, data: Option<&Value>) -> bool {
        let is_trusted = |field: &OutputField| field.trust == Trust::Trusted;
        if !self.fields.values().all(is_trusted) {
            return true;
        }
        if self.trust == Trust::Trusted {
            return false;
        }
        let Some(data) = data.filter(|_| !self.fields.is_empty()) else { return true };
        let is_whole = self.parse_data(text).as_ref() == Some(data);
        !is_whole || !self.is_covered(data, &mut String::new())
    }

    /// Whether reading why a call failed taints a run: anyone may have a part in what is said of the world. What a pure
    /// tool says follows from its input.
    pub fn failure_taints(&self) -> bool {
        self.trust == Trust::Untrusted || self.effect != ToolEffect::Pure
    }

    fn is_covered(&self, value: &Value, place: &mut String) -> bool {
        if nearest(&self.fields, place, |_| ()).is_some() {
            return true;
        }
        let mut inner = |name: &str, value: &Value| {
            let length = place.len();
            place.push('/');
            place.push_str(&name.replace('~', "~0").replace('/', "~1"));
            let covered = self.is_covered(value, place);
            place.truncate(length);
            covered
        };
        match value {
            Value::Array(items) => items.iter().enumerate().all(|(at, item)| inner(&at.to_string(), item)),
            Value::Object(fields) => fields.iter().all(|(name, field)| inner(name, field)),
            _ => false,
        }
    }

    pub(super) fn check_roles(&self) -> Result<(), ContractError> {
        let named = self.arguments.keys().map(|pointer| ("arguments", pointer));
        let egress = self.egress.iter().map(|pointer| ("egress", pointer));
        let fields = self.fields.keys().map(|pointer| ("fields", pointer));
        for (table, pointer) in named.chain(egress).chain(fields) {
            let wrong = |problem: String| Err(ContractError::at(format!("{table}.{pointer:?}"), problem));
            if !pointer.is_empty() && !pointer.starts_with('/') {
                return wrong("expected a JSON pointer such as \"/body\"".to_owned());
            }
            let schema = if table == "fields" { self.output.as_ref() } else { Some(&self.input) };
            let Some(schema) = schema else {
                return wrong("expected an `output`, whose fields these are".to_owned());
            };
            if !is_known(schema, pointer) {
                return wrong("expected a place that the schema declares".to_owned());
            }
        }
        match (self.output_format, &self.output) {
            (Some(_), None) => {
                Err(ContractError::at("output_format", "expected an `output`, the schema of the data"))
            }
            _ => Ok(()),
        }
    }

    /// The data of an output, if any is declared: what the tool gives, else what its text says.
    pub(crate) fn take_data(
        &self,
        declared: Option<&Schema>,
        text: &str,
        data: Option<Value>,
    ) -> Result<Option<Value>, ContractError> {
        let Some(declared) = declared else { return Ok(None) };
        let fail = |problem: String| Err(ContractError::at("output", problem));
        let data = data.or_else(|| self.parse_data(text));
        let Some(data) = data else { return fail("expected structured output, found none".to_owned()) };
        let (size, most) = (data.to_string().len(), self.max_output_bytes as usize);
        if size > most {
            return fail(format!("expected at most {most} bytes, found {size}"));
        }
        declared.check(&data).map_err(|error| error.under("output"))?;
        Ok(Some(data))
    }

    fn parse_data(&self, text: &str) -> Option<Value> {
        match self.output_format? {
            OutputFormat::Json => serde_json::from_str(text).ok(),
            OutputFormat::Lines => Some(text.lines().filter(|line| !line.trim().is_empty()).collect()),
        }
    }

    /// Where this contract is less careful than its tool.
    pub(super) fn find_careless(&self, tool: &ToolContract) -> Option<String> {
        let role =
            |of: &ToolContract, place: &str| nearest(&of.arguments, place, |role| *role).unwrap_or_default();
        let mut places = self.arguments.keys().chain(tool.arguments.keys());
        if let Some(place) = places.find(|place| role(self, place) < role(tool, place)) {
            let (expected, found) = (role(tool, place), role(self, place));
            return Some(format!("arguments.{place:?}: expected {expected}, found {found}"));
        }
        let stays = |place: &&String| !self.egress.iter().any(|own| is_within(place, own));
        if let Some(place) = tool.egress.iter().find(stays) {
            return Some(format!("egress: expected {place:?}, found none"));
        }
        if tool.grave && !self.grave {
            return Some("grave: expected true, found false".to_owned());
        }
        let label = |of: &ToolContract, place: &str| {
            let said =
                nearest(&of.fields, place, |field| (field.trust == Trust::Untrusted, field.kind as u8));
            said.unwrap_or((of.trust == Trust::Untrusted, FieldType::Text as u8))
        };
        let root = String::new();
        let mut places = self.fields.keys().chain(tool.fields.keys()).chain(std::iter::once(&root));
        let careless = places.find(|place| {
            let ((own, kind), (said, known)) = (label(self, place), label(tool, place));
            (said && !own) || (kind != FieldType::Text as u8 && said && kind != known)
        })?;
        Some(format!("fields.{careless:?}: expected no more trust than the tool declares, found more"))
    }
}

fn is_within(place: &str, outer: &str) -> bool {
    let mut place = segments(place);
    segments(outer).all(|name| place.next().is_some_and(|inner| name == "*" || inner == name))
}

/// Whether a schema has a place, as far as it names its fields.
fn is_known(root: &Value, pointer: &str) -> bool {
    let mut schema = root;
    for name in segments(pointer) {
        for _ in 0..8 {
            let target = schema.get("$ref").and_then(Value::as_str).and_then(|to| resolve(root, to));
            schema = target.unwrap_or(schema);
        }
        let properties = schema.get("properties").and_then(Value::as_object);
        let inner = match (properties, schema.get("items")) {
            (Some(known), _) if name == "*" => known.values().next(),
            (Some(known), _) => match known.get(name.as_ref()) {
                None => return false,
                found => found,
            },
            (None, items) => items,
        };
        let Some(inner) = inner else {
            return !matches!(schema.get("type").and_then(Value::as_str), Some("string"));
        };
        schema = inner;
    }
    true
}

/// Names of arguments that hold an address.
const ADDRESSES: [&str; 20] = [
    "url", "urls", "uri", "uris", "href", "link", "links", "host", "hosts", "hostname", "domain", "domains",
    "endpoint", "website", "webhook", "callback", "origin", "server", "proxy", "ip",
];
/// Formats of addresses.
const FORMATS: [&str; 10] = [
    "uri",
    "url",
    "iri",
    "uri-reference",
    "iri-reference",
    "uri-template",
    "hostname",
    "idn-hostname",
    "ipv4",
    "ipv6",
];

/// The words of a name: `imageUrl`, `image_url` and `ImageURL` have two.
fn words_of(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = '_';
    for c in name.chars() {
        if (c.is_uppercase() && before.is_lowercase()) || !c.is_alphanumeric() {
            words.push(String::new());
        }
        if c.is_alphanumeric() {
            words.last_mut().expect("there is one").extend(c.to_lowercase());
        }
        before = c;
    }
    words
}

/// Where an input holds addresses, by their `format` or `pattern` and by their names, and where it may hold anything:
/// JSON pointers.
pub(crate) fn find_addresses(schema: &Value) -> Vec<String> {
    let mut found = Vec::new();
    collect_addresses(schema, schema, "", 0, &mut found);
    found
}

fn collect_addresses(root: &Value, schema: &Value, place: &str, depth: u32, found: &mut Vec<String>) {
    // A schema that holds itself has no end.
    if depth > 8 {
        return;
    }
    let word = |key: &str| schema.get(key).and_then(Value::as_str);
    if word("format").is_some_and(|format| FORMATS.contains(&format))
        || word("pattern").is_some_and(|pattern| pattern.contains("http"))
    {
        found.push(place.to_owned());
        return;
    }
    if let Some(target) = schema.get("$ref").and_then(Value::as_str).and_then(|to| resolve(root, to)) {
        collect_addresses(root, target, place, depth + 1, found);
    }
    for choice in ["anyOf", "oneOf", "allOf"].iter().filter_map(|key| schema.get(key)?.as_array()).flatten() {
        collect_addresses(root, choice, place, depth + 1, found);
    }
    let named =
        schema.get("patternProperties").and_then(Value::as_object).into_iter().flat_map(|all| all.values());
    let listed = schema.get("prefixItems").and_then(Value::as_array).into_iter().flatten();
    let others = [schema.get("items"), schema.get("additionalProperties")].into_iter().flatten();
    for inner in others.chain(listed).chain(named).filter(|inner| inner.is_object()) {
        collect_addresses(root, inner, &format!("{place}/*"), depth + 1, found);
    }
    for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let inner = format!("{place}/{}", name.replace('~', "~0").replace('/', "~1"));
        match words_of(name).iter().any(|word| ADDRESSES.contains(&word.as_str())) {
            true => found.push(inner),
            false => collect_addresses(root, property, &inner, depth + 1, found),
        }
    }
}
