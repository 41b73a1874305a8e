//! Stands in for a window: something that is `!Send` and lives on the main thread.

use std::cell::Cell;
use std::rc::Rc;
use std::thread::{self, ThreadId};

use bevy_app::{App, Last, Plugin};
use bevy_ecs::prelude::*;

/// May be touched only by the thread that made it.
struct Window {
    shown: Rc<Cell<usize>>,
    home: ThreadId,
}

/// Adds the window and the system that draws to it.
pub(crate) struct WindowPlugin;

impl Plugin for WindowPlugin {
    fn build(&self, app: &mut App) {
        app.insert_non_send(Window {
            shown: Rc::default(),
            home: thread::current().id(),
        })
        .add_systems(Last, show_frame);
    }
}

fn show_frame(window: NonSend<Window>) {
    assert_eq!(
        thread::current().id(),
        window.home,
        "a system with a NonSend parameter left the main thread"
    );
    window.shown.set(window.shown.get() + 1);
}

/// Frames drawn so far.
pub(crate) fn frames_shown(app: &App) -> usize {
    app.world().non_send::<Window>().shown.get()
}
