//! Programs that must not compile, each beside one that does.
//!
//! An [`Owner`](crate::Owner) is declared before its [`Ring`](crate::Ring), and behind it:
//!
//! ```compile_fail,E0597
//! let owner;
//! {
//!     let ring = terrace_queue::Ring::<u32>::new();
//!     // SAFETY: one handle of this ring.
//!     owner = unsafe { ring.owner() };
//! }
//! owner.pop();
//! ```
//!
//! ```
//! let ring = terrace_queue::Ring::<u32>::new();
//! let owner;
//! // SAFETY: one handle of this ring.
//! owner = unsafe { ring.owner() };
//! owner.push(1).unwrap();
//! ```
//!
//! An owner outlives its ring, which is dropped or moved away:
//!
//! ```compile_fail,E0505
//! let ring = terrace_queue::Ring::<u32>::new();
//! // SAFETY: one handle of this ring.
//! let owner = unsafe { ring.owner() };
//! drop(ring);
//! owner.pop();
//! ```
//!
//! ```compile_fail,E0505
//! let ring = terrace_queue::Ring::<u32>::new();
//! // SAFETY: one handle of this ring.
//! let owner = unsafe { ring.owner() };
//! let moved = Box::new(ring);
//! owner.pop();
//! ```
//!
//! An owner goes to one thread at a time:
//!
//! ```compile_fail,E0277
//! let ring = terrace_queue::Ring::<u32>::new();
//! // SAFETY: one handle of this ring.
//! let owner = unsafe { ring.owner() };
//! std::thread::scope(|scope| {
//!     scope.spawn(|| owner.pop());
//! });
//! ```
//!
//! ```
//! let ring = terrace_queue::Ring::<u32>::new();
//! // SAFETY: one handle of this ring.
//! let owner = unsafe { ring.owner() };
//! std::thread::scope(|scope| {
//!     scope.spawn(move || owner.pop());
//! });
//! ```
//!
//! An owner's lifetime may be made shorter, not longer:
//!
//! ```
//! use terrace_queue::Owner;
//! fn shorter<'a, 'b: 'a>(owner: Owner<'b, u32>) -> Owner<'a, u32> { owner }
//! ```
//!
//! ```compile_fail
//! use terrace_queue::Owner;
//! fn longer<'a, 'b: 'a>(owner: Owner<'a, u32>) -> Owner<'b, u32> { owner }
//! ```
//!
//! What an owner's items borrow is neither made shorter nor longer, since it pushes and pops:
//!
//! ```compile_fail
//! use terrace_queue::Owner;
//! fn shorter<'r, 'a, 'b: 'a>(owner: Owner<'r, &'b u32>) -> Owner<'r, &'a u32> { owner }
//! ```
//!
//! ```compile_fail
//! use terrace_queue::Owner;
//! fn longer<'r, 'a, 'b: 'a>(owner: Owner<'r, &'a u32>) -> Owner<'r, &'b u32> { owner }
//! ```
//!
//! The same holds for what the items of a queue borrow:
//!
//! ```compile_fail
//! use terrace_queue::Ring;
//! fn shorter<'r, 'a, 'b: 'a>(ring: &'r Ring<&'b u32>) -> &'r Ring<&'a u32> { ring }
//! ```
//!
//! ```compile_fail
//! use terrace_queue::Ring;
//! fn longer<'r, 'a, 'b: 'a>(ring: &'r Ring<&'a u32>) -> &'r Ring<&'b u32> { ring }
//! ```
//!
//! ```compile_fail
//! use terrace_queue::Injector;
//! fn shorter<'r, 'a, 'b: 'a>(queue: &'r Injector<&'b u32>) -> &'r Injector<&'a u32> { queue }
//! ```
//!
//! ```compile_fail
//! use terrace_queue::Injector;
//! fn longer<'r, 'a, 'b: 'a>(queue: &'r Injector<&'a u32>) -> &'r Injector<&'b u32> { queue }
//! ```
//!
//! ```compile_fail
//! use terrace_queue::RunQueue;
//! fn shorter<'r, 'a, 'b: 'a>(queue: &'r RunQueue<&'b u32>) -> &'r RunQueue<&'a u32> { queue }
//! ```
//!
//! ```compile_fail
//! use terrace_queue::RunQueue;
//! fn longer<'r, 'a, 'b: 'a>(queue: &'r RunQueue<&'a u32>) -> &'r RunQueue<&'b u32> { queue }
//! ```
//!
//! ```compile_fail
//! use terrace_queue::{Boxed, Inbox};
//! fn shorter<'r, 'a, 'b: 'a>(inbox: &'r Inbox<Boxed<&'b u32>>) -> &'r Inbox<Boxed<&'a u32>> { inbox }
//! ```
//!
//! ```compile_fail
//! use terrace_queue::{Boxed, Inbox};
//! fn longer<'r, 'a, 'b: 'a>(inbox: &'r Inbox<Boxed<&'a u32>>) -> &'r Inbox<Boxed<&'b u32>> { inbox }
//! ```
//!
//! ```compile_fail
//! use terrace_queue::{Boxed, Taken};
//! fn shorter<'a, 'b: 'a>(taken: Taken<Boxed<&'b u32>>) -> Taken<Boxed<&'a u32>> { taken }
//! ```
//!
//! ```compile_fail
//! use terrace_queue::{Boxed, Taken};
//! fn longer<'a, 'b: 'a>(taken: Taken<Boxed<&'a u32>>) -> Taken<Boxed<&'b u32>> { taken }
//! ```
//!
//! An item's destructor reads what it borrows. That is declared behind the queue, and before it:
//!
//! ```compile_fail,E0597
//! # struct Reads<'a>(&'a str);
//! # impl Drop for Reads<'_> { fn drop(&mut self) { println!("{}", self.0); } }
//! let ring = terrace_queue::Ring::new();
//! let text = String::new();
//! // SAFETY: one handle of this ring.
//! let _ = unsafe { ring.owner() }.push(Reads(&text));
//! ```
//!
//! ```
//! # struct Reads<'a>(&'a str);
//! # impl Drop for Reads<'_> { fn drop(&mut self) { println!("{}", self.0); } }
//! let text = String::new();
//! let ring = terrace_queue::Ring::new();
//! // SAFETY: one handle of this ring.
//! let _ = unsafe { ring.owner() }.push(Reads(&text));
//! ```
//!
//! ```compile_fail,E0597
//! # struct Reads<'a>(&'a str);
//! # impl Drop for Reads<'_> { fn drop(&mut self) { println!("{}", self.0); } }
//! let queue = terrace_queue::Injector::new();
//! let text = String::new();
//! queue.push(Reads(&text));
//! ```
//!
//! ```
//! # struct Reads<'a>(&'a str);
//! # impl Drop for Reads<'_> { fn drop(&mut self) { println!("{}", self.0); } }
//! let text = String::new();
//! let queue = terrace_queue::Injector::new();
//! queue.push(Reads(&text));
//! ```
//!
//! ```compile_fail,E0597
//! # struct Reads<'a>(&'a str);
//! # impl Drop for Reads<'_> { fn drop(&mut self) { println!("{}", self.0); } }
//! let queue = terrace_queue::RunQueue::new();
//! let text = String::new();
//! queue.push_back(Reads(&text));
//! ```
//!
//! ```
//! # struct Reads<'a>(&'a str);
//! # impl Drop for Reads<'_> { fn drop(&mut self) { println!("{}", self.0); } }
//! let text = String::new();
//! let queue = terrace_queue::RunQueue::new();
//! queue.push_back(Reads(&text));
//! ```
//!
//! ```compile_fail,E0597
//! use terrace_queue::{Boxed, Inbox, Node};
//! # struct Reads<'a>(&'a str);
//! # impl Drop for Reads<'_> { fn drop(&mut self) { println!("{}", self.0); } }
//! let inbox = Inbox::<Boxed<Reads<'_>>>::new();
//! let text = String::new();
//! inbox.push(Node::boxed(Reads(&text)));
//! ```
//!
//! ```
//! use terrace_queue::{Boxed, Inbox, Node};
//! # struct Reads<'a>(&'a str);
//! # impl Drop for Reads<'_> { fn drop(&mut self) { println!("{}", self.0); } }
//! let text = String::new();
//! let inbox = Inbox::<Boxed<Reads<'_>>>::new();
//! inbox.push(Node::boxed(Reads(&text)));
//! ```
//!
//! So it is with the items that were taken out of an inbox:
//!
//! ```compile_fail,E0597
//! use terrace_queue::{Boxed, Inbox, Node};
//! # struct Reads<'a>(&'a str);
//! # impl Drop for Reads<'_> { fn drop(&mut self) { println!("{}", self.0); } }
//! let taken;
//! let text = String::new();
//! let inbox = Inbox::<Boxed<Reads<'_>>>::new();
//! inbox.push(Node::boxed(Reads(&text)));
//! taken = inbox.take();
//! ```
//!
//! An item reads its sibling, which the queue drops first:
//!
//! ```compile_fail,E0505
//! # struct Reads<'a>(&'a str);
//! # impl Drop for Reads<'_> { fn drop(&mut self) { println!("{}", self.0); } }
//! enum Item<'a> { Text(String), Reads(Reads<'a>) }
//! let queue = terrace_queue::RunQueue::new();
//! let text = String::new();
//! queue.push_back(Item::Reads(Reads(&text)));
//! queue.push_front(Item::Text(text));
//! ```
