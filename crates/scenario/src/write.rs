//! Scenarios as text: the resolved file and its digest.

use sha2::{Digest, Sha256};
use toml::{Table, Value};

use crate::model::Scenario;

/// The resolved scenario as TOML. Settings of both directions stand once, above the ones that differ, so that
/// changing such a setting later changes both.
pub fn to_toml(scenario: &Scenario) -> Result<String, toml::ser::Error> {
    let mut file = Table::try_from(scenario)?;
    for section in ["link", "access"] {
        let Some(Value::Table(named)) = file.get_mut(section) else { continue };
        for table in named.iter_mut().filter_map(|(_, value)| value.as_table_mut()) {
            join_directions(table);
        }
    }
    toml::to_string(&file)
}

/// Moves what `down` and `up` have in common to the table itself.
fn join_directions(table: &mut Table) {
    let (Some(Value::Table(mut down)), Some(Value::Table(mut up))) = (table.remove("down"), table.remove("up")) else {
        return;
    };
    down.retain(|key, value| {
        let is_common = up.get(key) == Some(value);
        if is_common {
            up.remove(key);
            table.insert(key.to_string(), value.clone());
        }
        !is_common
    });
    for (key, part) in [("down", down), ("up", up)] {
        if !part.is_empty() {
            table.insert(key.to_string(), Value::Table(part));
        }
    }
}

impl Scenario {
    /// SHA-256 in hexadecimal of the resolved scenario, without the number of replications: the same digest means
    /// the same results for the same replication number.
    pub fn digest(&self) -> String {
        let one = Scenario { replications: 1, ..self.clone() };
        // Every part is a table with string keys or a scalar, which JSON always holds.
        let text = serde_json::to_string(&one).unwrap_or_default();
        Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
    }
}
