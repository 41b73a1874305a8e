//! [`Links`]: how a queue reaches the pointer that an item has room for; [`Node`], an item that has.

use alloc::boxed::Box;
use core::fmt;
use core::marker::PhantomData;
use core::ptr::{self, NonNull};

use terrace_sync::cell::UnsafeCell;
use terrace_sync::const_fn;

/// Room for one pointer in an item, used while the item is in a queue. [`Links`] has an example.
pub struct Link {
    /// Only the thread that has the item touches it: the pusher until the item is published, then the taker.
    next: UnsafeCell<*mut ()>,
}

// SAFETY: the link may change threads with its item. Only the queue that the item is in follows the pointer.
unsafe impl Send for Link {}
// SAFETY: only the thread that has the item touches the link, by the protocol at the field.
unsafe impl Sync for Link {}

impl Link {
    const_fn! {
        /// An unused link. [`Links`] has an example.
        pub const fn new() -> Self {
            Self { next: UnsafeCell::new(ptr::null_mut()) }
        }
    }

    /// # Safety
    /// The caller has the item that the link is in.
    #[inline]
    pub(crate) unsafe fn get(&self) -> *mut () {
        // SAFETY: the caller alone has the item, so no other thread writes the link.
        self.next.with(|next| unsafe { *next })
    }

    /// # Safety
    /// The caller has the item that the link is in.
    #[inline]
    pub(crate) unsafe fn set(&self, to: *mut ()) {
        // SAFETY: the caller alone has the item, so no other thread touches the link.
        self.next.with_mut(|next| unsafe { *next = to });
    }
}

impl Default for Link {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link").finish_non_exhaustive()
    }
}

/// Turns items into pointers and back, and finds the [`Link`] in them. A type of no size, so that it can be implemented
/// for items of other crates.
///
/// # Safety
/// [`into_raw`](Self::into_raw) gives pointers that [`from_raw`](Self::from_raw) turns into the same item once, and
/// that differ for items that exist at the same time. Until then the link of each stays in place, and only the queue
/// uses it. None of the three methods runs users' code.
///
/// # Examples
///
/// ```
/// use std::ptr::NonNull;
/// use terrace_queue::{Inbox, Link, Links};
///
/// /// An item with room for a pointer.
/// struct Message {
///     link: Link,
///     text: &'static str,
/// }
///
/// struct Messages;
///
/// // SAFETY: each box has an address of its own, and its content stays in place until `from_raw`. No code uses its link.
/// unsafe impl Links for Messages {
///     type Item = Box<Message>;
///
///     fn into_raw(item: Self::Item) -> NonNull<()> {
///         NonNull::from(Box::leak(item)).cast()
///     }
///
///     unsafe fn from_raw(raw: NonNull<()>) -> Self::Item {
///         // SAFETY: `raw` is a box that `into_raw` leaked, and it is taken out once.
///         unsafe { Box::from_raw(raw.cast().as_ptr()) }
///     }
///
///     unsafe fn link(raw: NonNull<()>) -> NonNull<Link> {
///         // SAFETY: the message is in place, and so is its field.
///         unsafe { NonNull::new_unchecked(&raw mut (*raw.cast::<Message>().as_ptr()).link) }
///     }
/// }
///
/// let inbox = Inbox::<Messages>::new();
/// inbox.push(Box::new(Message { link: Link::new(), text: "no allocation of the queue's own" }));
/// assert!(inbox.take().all(|message| message.text.starts_with("no allocation")));
/// ```
#[doc(alias = "intrusive")]
pub unsafe trait Links {
    /// The queued items.
    type Item;

    /// The item as a pointer that owns it. [`Links`] has an example.
    fn into_raw(item: Self::Item) -> NonNull<()>;

    /// The item again. [`Links`] has an example.
    ///
    /// # Safety
    /// `raw` comes out of [`into_raw`](Self::into_raw), and the item is taken out of it once.
    unsafe fn from_raw(raw: NonNull<()>) -> Self::Item;

    /// The link of the item. [`Links`] has an example.
    ///
    /// # Safety
    /// `raw` comes out of [`into_raw`](Self::into_raw), and the item is not taken out yet.
    unsafe fn link(raw: NonNull<()>) -> NonNull<Link>;
}

/// A value with a link, to be boxed: it makes an item of a value that has none.
///
/// # Examples
///
/// ```
/// let mut node = terrace_queue::Node::boxed(1);
/// node.value += 1;
/// assert_eq!(node.value, 2);
/// ```
#[derive(Debug, Default)]
pub struct Node<T> {
    link: Link,
    /// The value.
    pub value: T,
}

impl<T> Node<T> {
    /// A boxed node: one allocation.
    ///
    /// # Examples
    ///
    /// ```
    /// use terrace_queue::{Boxed, Inbox, Node};
    ///
    /// let inbox = Inbox::<Boxed<String>>::new();
    /// inbox.push(Node::boxed("a message".to_owned()));
    /// assert_eq!(inbox.take().next().unwrap().value, "a message");
    /// ```
    pub fn boxed(value: T) -> Box<Self> {
        Box::new(Self {
            link: Link::new(),
            value,
        })
    }
}

/// The [`Links`] of boxed [`Node`]s. [`Node::boxed`] has an example.
#[derive(Debug)]
pub struct Boxed<T>(PhantomData<T>);

// SAFETY: each box has an address of its own, its content stays in place until `from_raw`, and no method of `Node` gives
// its link away. Leaking and boxing run no code of `T`.
unsafe impl<T> Links for Boxed<T> {
    type Item = Box<Node<T>>;

    fn into_raw(item: Self::Item) -> NonNull<()> {
        NonNull::from(Box::leak(item)).cast()
    }

    unsafe fn from_raw(raw: NonNull<()>) -> Self::Item {
        // SAFETY: `raw` is a box that `into_raw` leaked, and by the caller's promise it is taken out once.
        unsafe { Box::from_raw(raw.cast().as_ptr()) }
    }

    unsafe fn link(raw: NonNull<()>) -> NonNull<Link> {
        let node: NonNull<Node<T>> = raw.cast();
        // SAFETY: `raw` is a box that `into_raw` leaked and that is not taken out yet, so the node is in place.
        let link = unsafe { &raw mut (*node.as_ptr()).link };
        // SAFETY: the address of a field of a box is not null.
        unsafe { NonNull::new_unchecked(link) }
    }
}
