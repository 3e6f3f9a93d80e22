// Messages of the page itself: a notice above the message box with one thing to do, and words for a
// screen reader.

export const $ = (id) => document.getElementById(id);

// A reader who scrolled up stays there.
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

// `about`: "server" for what the next word from the server makes untrue, "store" likewise.
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

// The notice about this, or whatever it is about.
export function hideNotice(about) {
  if (!about || $("notice").dataset.about === about) $("notice").hidden = true;
}
