//! Tasks in a window system's event loop, in the shape of winit. It needs no display: the system here is a channel.
//!
//! ```sh
//! cargo run -p terrace-thread --example window
//! ```
//!
//! | winit                              | here                                                  |
//! |------------------------------------|-------------------------------------------------------|
//! | `EventLoopProxy::send_event`       | `Proxy::send_event`, which the thread's hook calls    |
//! | `ApplicationHandler::user_event`   | `run_for`: a few polls; the bell rings again if tasks are left |
//! | `ApplicationHandler::window_event` | input, which the window takes between two such calls  |
//! | `EventLoop::run_app`               | sleeps in its own queue, and nowhere else             |

use std::cell::RefCell;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use terrace_thread::{ThreadSpawner, run_for, set_on_ready};

/// Polls of tasks that one frame can afford.
const POLLS: usize = 4;
/// Tiles that the picture has.
const TILES: u32 = 20;
/// Keys that the user types.
const KEYS: &str = "zoom";

enum Event {
    /// Of the program: tasks are ready.
    User,
    /// Of the window.
    Key(char),
}

/// Posts events from any thread.
#[derive(Clone)]
struct Proxy(Sender<Event>);

impl Proxy {
    fn send_event(&self, event: Event) {
        // An error says that the loop has ended.
        let _ended = self.0.send(event);
    }
}

/// What a program of winit implements.
trait ApplicationHandler {
    fn user_event(&mut self) -> Flow;
    fn window_event(&mut self, key: char) -> Flow;
}

#[derive(PartialEq)]
enum Flow {
    Wait,
    Exit,
}

/// Gives each event to the program, and sleeps where there is none.
fn run_app(events: &Receiver<Event>, app: &mut impl ApplicationHandler) {
    let mut flow = Flow::Wait;
    while flow == Flow::Wait {
        flow = match events.recv().expect("the hook keeps a sender") {
            Event::User => app.user_event(),
            Event::Key(key) => app.window_event(key),
        };
    }
}

thread_local! {
    /// Stands for a window, which is not `Send`: it stays on the thread that made it.
    static SHOWN: RefCell<Vec<u32>> = const { RefCell::new(Vec::new()) };
}

fn shown() -> usize {
    SHOWN.with(|shown| shown.borrow().len())
}

#[derive(Default)]
struct Viewer {
    keys: String,
    longest_turn: usize,
}

impl Viewer {
    fn flow(&self) -> Flow {
        if shown() == TILES as usize && self.keys.len() == KEYS.len() {
            return Flow::Exit;
        }
        Flow::Wait
    }
}

impl ApplicationHandler for Viewer {
    fn user_event(&mut self) -> Flow {
        let before = shown();
        run_for(POLLS);
        self.longest_turn = self.longest_turn.max(shown() - before);
        self.flow()
    }

    fn window_event(&mut self, key: char) -> Flow {
        self.keys.push(key);
        self.flow()
    }
}

fn main() {
    let (sender, events) = channel();
    let proxy = Proxy(sender);
    let bell = proxy.clone();
    set_on_ready(move || bell.send_event(Event::User));

    let main_thread = ThreadSpawner::current();
    let decoders: Vec<_> = (0..TILES)
        .map(|number| {
            let main_thread = main_thread.clone();
            thread::spawn(move || {
                let tile = number * number;
                // The closure runs on the main thread, so the future may use what is not `Send`.
                let show = move || async move { SHOWN.with(|shown| shown.borrow_mut().push(tile)) };
                main_thread.spawn_with(show).detach();
            })
        })
        .collect();

    let keyboard = proxy.clone();
    let keyboard = thread::spawn(move || {
        KEYS.chars()
            .for_each(|key| keyboard.send_event(Event::Key(key)))
    });

    let mut viewer = Viewer::default();
    run_app(&events, &mut viewer);
    keyboard.join().expect("it does not panic");
    for decoder in decoders {
        decoder.join().expect("it does not panic");
    }

    let mut shown = SHOWN.with(RefCell::take);
    shown.sort_unstable();
    println!(
        "{} tiles, at most {} in a turn; keys {:?}",
        shown.len(),
        viewer.longest_turn,
        viewer.keys
    );
    assert_eq!(
        shown,
        (0..TILES).map(|number| number * number).collect::<Vec<_>>()
    );
    assert!(viewer.longest_turn <= POLLS);
}
