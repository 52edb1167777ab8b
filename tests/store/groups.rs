//! Jobs that come at once: those that come while a group is done are the next one, in the order in which they came.
//! What a panic breaks off holds up nobody.

#[path = "../../crates/sqlite/src/group.rs"]
mod group;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Barrier, Mutex};

use crate::at_once::until;
use group::Groups;

type Tens = Groups<usize, usize>;

/// Groups of numbers, each made ten times as large.
#[derive(Default)]
struct Done(Mutex<Vec<Vec<usize>>>);

impl Done {
    fn perform(&self, jobs: &[usize]) -> Vec<usize> {
        self.0.lock().unwrap().push(jobs.to_vec());
        jobs.iter().map(|job| job * 10).collect()
    }

    fn groups(self) -> Vec<Vec<usize>> {
        self.0.into_inner().unwrap()
    }
}

fn waits(groups: &Tens, job: usize) -> bool {
    format!("{groups:?}").contains(&format!("({job}, "))
}

#[test]
fn job_that_meets_no_other_is_done_at_once_and_alone() {
    let (groups, done) = (Tens::new(), Done::default());
    for job in 1..4 {
        assert_eq!(groups.run(job, |jobs| done.perform(jobs)), Some(job * 10));
    }
    assert_eq!(done.groups(), [[1], [2], [3]]);
}

#[test]
fn jobs_that_come_meanwhile_are_done_in_their_order_in_groups_of_a_bounded_size() {
    let (groups, done, barrier) = (Tens::new(), Done::default(), Barrier::new(2));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            groups.run(0, |jobs| {
                barrier.wait();
                barrier.wait();
                done.perform(jobs)
            })
        });
        barrier.wait();
        for job in 1..=300 {
            let (groups, done) = (&groups, &done);
            scope.spawn(move || {
                assert_eq!(groups.run(job, |jobs| done.perform(jobs)), Some(job * 10));
            });
            until(|| waits(groups, job));
        }
        barrier.wait();
    });
    assert_eq!(done.groups(), [vec![0], (1..=256).collect(), (257..=300).collect()]);
}

#[test]
fn panic_of_one_who_leads_is_told_to_its_group_and_holds_up_nobody() {
    let (groups, done) = (Tens::new(), Done::default());
    let gate = || -> (Sender<()>, Receiver<()>) { channel() };
    let ((open_first, first), (open_second, second)) = (gate(), gate());
    let ((in_second, is_in_second), done) = (gate(), &done);
    std::thread::scope(|scope| {
        let groups = &groups;
        // Alone, and broken off.
        let alone = scope.spawn(move || {
            let broken = || groups.run(0, |_| first.recv().map(|()| panic!("on purpose")).unwrap());
            catch_unwind(AssertUnwindSafe(broken)).is_err()
        });
        until(|| format!("{groups:?}").contains("is_led: true"));
        // Leads the next group, and is broken off.
        let leads = scope.spawn(move || {
            let broken = || {
                groups.run(1, |jobs| {
                    assert_eq!(jobs, [1, 2]);
                    in_second.send(()).unwrap();
                    second.recv().map(|()| panic!("on purpose")).unwrap()
                })
            };
            catch_unwind(AssertUnwindSafe(broken)).is_err()
        });
        until(|| waits(groups, 1));
        let follows = scope.spawn(|| groups.run(2, |jobs| done.perform(jobs)));
        until(|| waits(groups, 2));
        open_first.send(()).unwrap();
        is_in_second.recv().unwrap();
        let later = scope.spawn(|| groups.run(3, |jobs| done.perform(jobs)));
        until(|| waits(groups, 3));
        open_second.send(()).unwrap();
        assert!(alone.join().unwrap() && leads.join().unwrap());
        assert_eq!((follows.join().unwrap(), later.join().unwrap()), (None, Some(30)));
        assert_eq!(groups.run(4, |jobs| done.perform(jobs)), Some(40));
    });
}
