//! Records every fixture of this crate anew: `cargo run --example record_fixtures`.
//!
//! Models, tools and people say what they say in the fixture, so what it writes is what is there already,
//! unless an agent, a prompt or the format has changed. The test `fixtures_are_what_their_stories_record` holds that.

#[path = "../tests/common/stories/mod.rs"]
mod stories;

use std::error::Error;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    for story in stories::all() {
        let path = story.path();
        let fixture = story.record()?;
        fixture.save(Path::new(env!("CARGO_MANIFEST_DIR")).join(&path))?;
        println!("{} ({} exchanges)", path.display(), fixture.exchanges.len());
    }
    Ok(())
}
