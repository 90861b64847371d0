// SPDX-License-Identifier: Apache-2.0
const events = document.getElementById("events");
const source = new EventSource("/map/events");
for (const name of ["state", "update", "refused", "token", "faults", "log"]) {
  source.addEventListener(name, (event) => {
    events.prepend(`${name} ${event.data}\n`);
  });
}
