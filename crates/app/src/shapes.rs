//! Shapes that the engine gives, by the names that a description of an interface has for them. What each holds is
//! for the describer to say: the engine knows of no such description.

use utoipa::openapi::schema::Schema;
use utoipa::openapi::{ObjectBuilder, RefOr};
use utoipa::{PartialSchema, ToSchema};

macro_rules! shapes {
    ($($(#[$about:meta])* $name:ident),* $(,)?) => {$(
        $(#[$about])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                ObjectBuilder::new().into()
            }
        }

        impl ToSchema for $name {}
    )*};
}

shapes! {
    /// The name of a thread.
    ThreadName,
    /// A thread in a list.
    ListedThread,
    /// The status of a thread in a list.
    ListedStatus,
    /// An event of a stream.
    StreamEvent,
    /// An event of a stream of another protocol.
    DataEvent,
    /// A place in what happens in a thread.
    EventId,
    /// Where a page ends.
    Cursor,
    /// Where a turn stands.
    TurnStatus,
    /// The first record of a fork.
    Origin,
    /// A name of a request, under which it is done once.
    IdempotencyKey,
    /// A step of a plan, with what came of it.
    Step,
    /// A step of a plan, as a person may edit it.
    PlanStep,
    /// A write of which nobody knows whether it happened.
    UnknownWrite,
    /// A line of a trace.
    TraceLine,
    /// Tokens.
    Usage,
    /// The name of an agent.
    AgentName,
    /// An agent's spec.
    AgentSpec,
    /// The most that any run of an agent can do.
    Bounds,
    /// A recorded run.
    Fixture,
}
