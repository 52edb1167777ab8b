//! A tab of the browser, seen and used as a person does: by what is visible, by roles and accessible names, by mouse and
//! keyboard. What a page must not do (an error, a script that its policy forbids, a request to elsewhere) fails the test.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use base64::prelude::{BASE64_STANDARD, Engine};
use serde_json::{Value, json};

use super::browser::{Browser, PATIENCE, browser};

pub struct Tab {
    browser: &'static Browser,
    session: String,
    context: String,
    /// Where the page may ask for anything.
    origin: String,
    /// Whether the service is let go amid the test, so that connections to it fail.
    pub loses_connection: bool,
}

/// An element by its role and accessible name.
#[derive(Clone, Debug)]
pub struct Element {
    pub name: String,
    pub node: Value,
}

impl Element {
    /// What the accessibility tree says of a property, such as `invalid` and `expanded`.
    pub fn property(&self, name: &str) -> String {
        let properties = self.node["properties"].as_array().cloned().unwrap_or_default();
        let found = properties.into_iter().find(|property| property["name"] == name);
        let value = found.map(|property| property["value"]["value"].clone()).unwrap_or_default();
        value.as_str().map_or_else(|| value.to_string(), str::to_owned)
    }

    /// Whether its description, such as a refusal beside a field, says this.
    pub fn says(&self, text: &str) -> bool {
        self.node["description"]["value"].as_str().is_some_and(|description| description.contains(text))
    }
}

impl Tab {
    /// Opens a page of an origin in a tab of its own; `None` where the test is skipped.
    pub fn open(origin: &str, path: &str) -> Option<Self> {
        let browser = browser()?;
        let own = |method: &str, params: Value| browser.call(None, method, &params).unwrap();
        let context = own("Target.createBrowserContext", json!({"disposeOnDetach": true}));
        let context = context["browserContextId"].as_str().unwrap().to_owned();
        let blank = json!({"url": "about:blank", "browserContextId": context, "width": 1280, "height": 900});
        let target = own("Target.createTarget", blank)["targetId"].clone();
        let session = own("Target.attachToTarget", json!({"targetId": target, "flatten": true}));
        let session = session["sessionId"].as_str().unwrap().to_owned();
        let tab = Tab { browser, session, context, origin: origin.to_owned(), loses_connection: false };
        for domain in ["Runtime", "Log", "Network", "Page", "DOM", "Accessibility"] {
            tab.call(&format!("{domain}.enable"), json!({}));
        }
        tab.call("Emulation.setFocusEmulationEnabled", json!({"enabled": true}));
        tab.resize(1280, 900);
        tab.look("light");
        tab.go(path);
        Some(tab)
    }

    #[track_caller]
    pub fn call(&self, method: &str, params: Value) -> Value {
        self.try_call(method, params).unwrap()
    }

    fn try_call(&self, method: &str, params: Value) -> Result<Value, String> {
        self.browser.call(Some(&self.session), method, &params)
    }

    /// Goes to a path of its origin.
    #[track_caller]
    pub fn go(&self, path: &str) {
        let went = self.call("Page.navigate", json!({"url": format!("{}{path}", self.origin)}));
        assert!(went["errorText"].is_null(), "{went}");
        self.until("the page is there", || self.is("document.readyState === 'complete'"));
    }

    pub fn resize(&self, width: u32, height: u32) {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", size);
    }

    /// Cuts the page off from every network, and loads it again.
    #[track_caller]
    pub fn reload_offline(&self) {
        let cut = json!({"offline": true, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1});
        self.call("Network.emulateNetworkConditions", cut);
        self.value("window.isBefore = true").unwrap();
        self.call("Page.reload", json!({}));
        self.until("the page is there", || self.is("!window.isBefore && document.readyState === 'complete'"));
    }

    /// Prefers `light` or `dark`, and no motion.
    pub fn look(&self, scheme: &str) {
        let scheme = json!({"name": "prefers-color-scheme", "value": scheme});
        let still = json!({"name": "prefers-reduced-motion", "value": "reduce"});
        self.call("Emulation.setEmulatedMedia", json!({"features": [scheme, still]}));
    }

    /// The value of an expression, awaited where it is a promise.
    pub fn value(&self, expression: &str) -> Result<Value, String> {
        let asked = json!({"expression": expression, "awaitPromise": true, "returnByValue": true});
        let got = self.try_call("Runtime.evaluate", asked)?;
        match got.get("exceptionDetails") {
            Some(thrown) => Err(format!("{expression}: {}", thrown["exception"]["description"])),
            None => Ok(got["result"]["value"].clone()),
        }
    }

    /// Whether an expression holds now; not so while one page gives way to another.
    pub fn is(&self, expression: &str) -> bool {
        self.value(expression).is_ok_and(|value| value == true)
    }

    /// What a person could read.
    pub fn text(&self) -> String {
        let text = self.value("document.body.innerText").unwrap_or_default();
        text.as_str().unwrap_or_default().to_owned()
    }

    /// How often something stands in the view itself, beside which the page announces things.
    pub fn count(&self, text: &str) -> usize {
        let shown = self.value("document.querySelector('main').innerText").unwrap_or_default();
        shown.as_str().unwrap_or_default().matches(text).count()
    }

    /// Waits until something holds.
    #[track_caller]
    pub fn until(&self, what: &str, holds: impl Fn() -> bool) {
        self.wait_for(what, || holds().then_some(()));
    }

    /// Waits for something.
    #[track_caller]
    pub fn wait_for<T>(&self, what: &str, find: impl Fn() -> Option<T>) -> T {
        let (began, mut pause) = (Instant::now(), Duration::from_millis(10));
        loop {
            if let Some(found) = find() {
                return found;
            }
            if began.elapsed() > PATIENCE / 2 {
                let shot = self.shoot("failed");
                panic!("{what}: not so; see {}\n{}\n{:?}", shot.display(), self.text(), self.complaints());
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(100));
        }
    }

    /// Waits until a person could read all of these.
    #[track_caller]
    pub fn shows(&self, texts: &[&str]) {
        for text in texts {
            self.until(&format!("{text:?} is shown"), || self.text().contains(text));
        }
    }

    /// Waits until none of these can be read.
    #[track_caller]
    pub fn hides(&self, texts: &[&str]) {
        for text in texts {
            self.until(&format!("{text:?} is not shown"), || !self.text().contains(text));
        }
    }

    /// The elements of a role whose accessible name contains this, as a screen reader meets them.
    pub fn all(&self, role: &str, name: &str) -> Vec<Element> {
        let document = self.try_call("Runtime.evaluate", json!({"expression": "document"}));
        let Ok(document) = document else { return Vec::new() };
        let asked = json!({"objectId": document["result"]["objectId"], "role": role});
        let Ok(found) = self.try_call("Accessibility.queryAXTree", asked) else { return Vec::new() };
        let nodes = found["nodes"].as_array().cloned().unwrap_or_default().into_iter();
        let elements = nodes.filter(|node| node["ignored"] != true).map(|node| Element {
            name: node["name"]["value"].as_str().unwrap_or_default().to_owned(),
            node,
        });
        elements.filter(|element| element.name.contains(name)).collect()
    }

    /// Waits for the element of a role with this accessible name, or else the only one whose name contains it.
    #[track_caller]
    pub fn find(&self, role: &str, name: &str) -> Element {
        self.wait_for(&format!("one {role} {name:?}"), || {
            let found = self.all(role, name);
            let exact: Vec<&Element> = found.iter().filter(|element| element.name == name).collect();
            match (exact.as_slice(), found.as_slice()) {
                ([one], _) => Some((*one).clone()),
                ([], [one]) => Some(one.clone()),
                _ => None,
            }
        })
    }

    /// Clicks where an element is.
    #[track_caller]
    pub fn click(&self, role: &str, name: &str) {
        self.click_times(1, role, name);
    }

    /// Clicks where an element is, so many times without a pause, whatever the first click does.
    #[track_caller]
    pub fn click_times(&self, times: u32, role: &str, name: &str) {
        let at = self
            .wait_for(&format!("{role} {name:?} can be clicked"), || self.middle_of(&self.find(role, name)));
        let clicks = (1..=times).flat_map(|count| [("mousePressed", count), ("mouseReleased", count)]);
        for (kind, count) in [("mouseMoved", 0)].into_iter().chain(clicks) {
            let mouse = json!({"type": kind, "x": at.0, "y": at.1, "button": "left", "clickCount": count});
            self.call("Input.dispatchMouseEvent", mouse);
        }
    }

    /// The middle of an element, once it is in view.
    fn middle_of(&self, element: &Element) -> Option<(f64, f64)> {
        let node = json!({"backendNodeId": element.node["backendDOMNodeId"]});
        self.try_call("DOM.scrollIntoViewIfNeeded", node.clone()).ok()?;
        let quads = self.try_call("DOM.getContentQuads", node).ok()?;
        let corners: Vec<f64> = serde_json::from_value(quads["quads"][0].clone()).ok()?;
        Some(((corners[0] + corners[4]) / 2.0, (corners[1] + corners[5]) / 2.0))
    }

    /// Puts a text into a field in place of what is there, as typing does.
    #[track_caller]
    pub fn fill(&self, role: &str, name: &str, text: &str) {
        self.wait_for(&format!("{role} {name:?} takes the focus"), || {
            let node = self.find(role, name).node["backendDOMNodeId"].clone();
            self.try_call("DOM.focus", json!({"backendNodeId": node})).ok()
        });
        self.value("document.activeElement.select?.()").unwrap();
        self.type_text(text);
    }

    /// Types into what has the focus.
    pub fn type_text(&self, text: &str) {
        self.call("Input.insertText", json!({"text": text}));
    }

    /// Presses a key, such as `Tab`, `Enter`, `Shift+Tab` and `ArrowDown`.
    pub fn press(&self, key: &str) {
        let (modifiers, key) = key.strip_prefix("Shift+").map_or((0, key), |key| (8, key));
        let (code, text) = match key {
            "Tab" => (9, ""),
            "Enter" => (13, "\r"),
            "Escape" => (27, ""),
            " " => (32, " "),
            "End" => (35, ""),
            "Home" => (36, ""),
            "ArrowLeft" => (37, ""),
            "ArrowUp" => (38, ""),
            "ArrowRight" => (39, ""),
            "ArrowDown" => (40, ""),
            _ => panic!("a key that is not known here: {key}"),
        };
        let named = if key == " " { "Space" } else { key };
        let pressed = json!({"type": "keyDown", "key": key, "code": named, "windowsVirtualKeyCode": code,
            "modifiers": modifiers, "text": text});
        self.call("Input.dispatchKeyEvent", pressed);
        let released = json!({"type": "keyUp", "key": key, "code": named, "windowsVirtualKeyCode": code,
            "modifiers": modifiers});
        self.call("Input.dispatchKeyEvent", released);
    }

    /// Role and name of what has the focus.
    pub fn focused(&self) -> (String, String) {
        let focused = self.call("Runtime.evaluate", json!({"expression": "document.activeElement"}));
        let asked = json!({"objectId": focused["result"]["objectId"], "fetchRelatives": false});
        let Ok(tree) = self.try_call("Accessibility.getPartialAXTree", asked) else {
            return Default::default();
        };
        let of = |what: &str| tree["nodes"][0][what]["value"].as_str().unwrap_or_default().to_owned();
        (of("role"), of("name"))
    }

    /// Goes on with Tab until the element of a role and a name has the focus.
    #[track_caller]
    pub fn tab_to(&self, role: &str, name: &str) {
        for _ in 0..200 {
            let (has_role, has_name) = self.focused();
            if has_role == role && has_name.contains(name) {
                return;
            }
            self.press("Tab");
        }
        panic!(
            "{role} {name:?} is not reached with Tab; see {}\n{}",
            self.shoot("failed").display(),
            self.text()
        );
    }

    /// Nothing is wider than the window.
    #[track_caller]
    pub fn fits(&self) {
        let size = self.value("[document.documentElement.scrollWidth, innerWidth]").unwrap();
        assert!(size[0].as_u64() <= size[1].as_u64(), "{size}; see {}", self.shoot("too wide").display());
    }

    /// A picture of what is in the window, under `target/page-shots`.
    pub fn shoot(&self, name: &str) -> PathBuf {
        let test = std::thread::current().name().unwrap_or_default().replace("::", " ");
        let name =
            if name == "failed" || name == "too wide" { format!("{name} {test}") } else { name.to_owned() };
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/page-shots");
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join(format!("{name}.png"));
        let shot = self.call("Page.captureScreenshot", json!({"format": "png"}));
        let png = BASE64_STANDARD.decode(shot["data"].as_str().unwrap()).unwrap();
        std::fs::write(&path, png).unwrap();
        path
    }

    /// What the page did that none may do.
    pub fn complaints(&self) -> Vec<String> {
        let events = self.browser.events(&self.session);
        let found = events.iter().filter_map(|event| {
            let params = &event["params"];
            let is_wrong = match event["method"].as_str().unwrap_or_default() {
                "Runtime.exceptionThrown" | "Page.javascriptDialogOpening" => true,
                "Runtime.consoleAPICalled" => ["error", "assert"].contains(&params["type"].as_str()?),
                "Log.entryAdded" => {
                    let (entry, of_page) = (&params["entry"], format!("{}/page/", self.origin));
                    // A refusal is an answer, which the page shows; a file of the page that is not there is none.
                    let is_answer = entry["text"].as_str()?.contains("with a status of 4")
                        && !entry["url"].as_str()?.starts_with(&of_page);
                    let is_lost = self.loses_connection && entry["source"] == "network";
                    entry["level"] == "error" && !is_lost && !is_answer
                }
                "Network.requestWillBeSent" => {
                    let url = params["request"]["url"].as_str()?;
                    let ours = [&*self.origin, "about:", "data:", "blob:"];
                    !ours.iter().any(|ours| url.starts_with(ours))
                }
                _ => false,
            };
            is_wrong.then(|| event.to_string().chars().take(600).collect())
        });
        found.collect()
    }

    /// Forgets what the page did so far that none may do.
    pub fn forget_complaints(&self) {
        self.browser.forget(&self.session);
    }
}

impl Drop for Tab {
    fn drop(&mut self) {
        let complaints = self.complaints();
        let _ = self.browser.call(
            None,
            "Target.disposeBrowserContext",
            &json!({"browserContextId": self.context}),
        );
        if !std::thread::panicking() {
            assert!(complaints.is_empty(), "the page did what it must not: {complaints:#?}");
        }
    }
}
