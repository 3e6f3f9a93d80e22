// The page's own messages: a notice above the message box with one action, and announcements for
// screen readers.

export const $ = (id) => document.getElementById(id);

// Whether the page is scrolled to its end: only then does it follow new text.
export function isAtEnd() {
  const page = document.documentElement;
  return page.scrollHeight - window.innerHeight - window.scrollY < 90;
}

export function scrollToEnd() {
  window.scrollTo(0, document.documentElement.scrollHeight);
}

export function announce(text) {
  $("announcer").textContent = text;
}

// Shows a notice. `about`: the subject, such as "server" or "store"; hideNotice(about) hides it
// once it no longer holds.
export function notify(text, label = "", action = null, about = "chat") {
  const following = isAtEnd();
  $("notice-text").textContent = text;
  $("notice-action").textContent = label;
  $("notice-action").hidden = !label;
  $("notice-action").onclick = action;
  $("notice").dataset.about = about;
  $("notice").hidden = false;
  if (following) scrollToEnd();
}

// Hides the notice if it is about this subject; without a subject, any notice.
export function hideNotice(about) {
  if (!about || $("notice").dataset.about === about) $("notice").hidden = true;
}
