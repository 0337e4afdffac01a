// Requests that lead through the product, one step at a time.

/** @typedef {{id: string, title: string, about: string, as: string, channel: string, say: string}} Step */

/** @type {Step[]} */
export const TOUR = [
  {
    id: "read",
    title: "A read",
    about: "Looking is allowed, so it just runs. Underneath: the verdict Allow, in the audit.",
    as: "U0REQUESTER",
    channel: "C0GENERAL",
    say: "@askfirst read notes.txt",
  },
  {
    id: "cleanup",
    title: "The 847-file cleanup",
    about: "First the limits are agreed on, with Rita. Then Ada decides, and may allow less: “Older than 1 year (312)”.",
    as: "U0REQUESTER",
    channel: "C0GENERAL",
    say: "@askfirst clean up test files in ci-artifacts",
  },
  {
    id: "denied",
    title: "A rejected command",
    about: "Some things nobody can approve in chat. The agent is told, and stops.",
    as: "U0REQUESTER",
    channel: "C0GENERAL",
    say: "@askfirst run sudo reboot",
  },
  {
    id: "edit",
    title: "An edit",
    about: "Become Ada, press Edit…, change the text, and approve the edited call.",
    as: "U0REQUESTER",
    channel: "C0GENERAL",
    say: "@askfirst write hello to greeting.txt",
  },
  {
    id: "quorum",
    title: "Two approvers",
    about: "In #production two people must agree, each with a reason. Become Ada, then Sam.",
    as: "U0REQUESTER",
    channel: "C0PROD",
    say: "@askfirst write maintenance to status.txt",
  },
  {
    id: "question",
    title: "A question",
    about: "Sometimes the agent needs a person's answer, not a permission. Rita answers; the run goes on with it.",
    as: "U0REQUESTER",
    channel: "C0GENERAL",
    say: "@askfirst ask me when",
  },
  {
    id: "timeout",
    title: "A timeout",
    about: "Ask, do not answer, and skip ahead: first a reminder, then the question expires and nothing is run.",
    as: "U0REQUESTER",
    channel: "C0GENERAL",
    say: "@askfirst run make deploy",
  },
  {
    id: "crash",
    title: "A crash",
    about: "Ask, kill the bot, start it again, and only then approve. It goes on where it stopped.",
    as: "U0REQUESTER",
    channel: "C0GENERAL",
    say: "@askfirst write still here to crash.txt",
  },
];
