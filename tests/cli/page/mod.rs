//! The page, in a real browser: what a person sees and can do. Elements are found by role and accessible name, texts by
//! being visible; no test knows how the page is built.

mod allowed;
mod axe;
mod browser;
mod elsewhere;
mod exported;
mod hostile;
mod long;
mod pressed;
mod replanned;
mod stories;
mod tab;
mod told;
mod world;

use tab::Tab;

#[test]
fn what_a_page_must_not_do_is_seen() {
    let page = "<title>x</title><button onclick='console.error(1)'>One</button><img src='https://elsewhere.example/x'>\
        <script>Promise.reject(new Error('thrown'))</script>";
    let Some(tab) = Tab::open("data:text/html,", page) else { return };
    tab.click("button", "One");
    tab.until("all is seen", || tab.complaints().len() >= 3);
    tab.forget_complaints();
}
