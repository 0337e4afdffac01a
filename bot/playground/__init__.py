"""A Slack workspace on your own machine: for every test of the Slack front, and to try the bot without Slack.

Start reading at `workspace.py` (open one, meet the people), then `people.py` (what they can do) and
`world.py` (what there is). The app's side is `server.py`: the Web API in `methods/`, Socket Mode in
`sockets.py`, signed HTTP in `http_events.py`, both fed by `delivery.py`.

The people's side in a browser is `page/`, beginning with `app.js`; `demo.py` puts the workspace, the page and the
bot (`bot_process.py`, looked after by `child.py`) together, and `underneath.py` reads what the side panel shows.
"""
