/**
 * A scripted /proc for agents on systems without one, such as macOS. Node loads this file before
 * the agent. It has the two things that the agent reads there: an id of the boot, and the table of
 * TCP connections, from which the agent learns that its own user serves the kubelet's healthz.
 */
"use strict";
const { subscribe } = require("node:diagnostics_channel");
const fs = require("node:fs");

const bootId = "/proc/sys/kernel/random/boot_id";
const table = "/proc/self/net/tcp";
/** Stands for a descriptor of the table. */
const descriptor = -1069;

const sockets = new Set();
subscribe("net.client.socket", ({ socket }) => {
  sockets.add(socket);
  socket.once("close", () => sockets.delete(socket));
});

const hex = (port) => port.toString(16).toUpperCase().padStart(4, "0");

/** One line for each end of each connection, in the kernel's columns. */
function rows() {
  const user = process.getuid();
  return [...sockets]
    .filter(({ localPort, remotePort }) => localPort !== undefined && remotePort !== undefined)
    .flatMap(({ localPort, remotePort }) => [
      [localPort, remotePort],
      [remotePort, localPort],
    ])
    .map((ends) => ends.map((port) => `0100007F:${hex(port)}`).join(" "))
    .map((ends, at) => `${at}: ${ends} 01 0:0 0:0 0 ${user} 0 1\n`)
    .join("");
}

const { closeSync, openSync, readFileSync, readSync } = fs;
let unread = "";

fs.readFileSync = (path, options) => (path === bootId ? "scripted" : readFileSync(path, options));
fs.openSync = (path, ...rest) => {
  if (path !== table) return openSync(path, ...rest);
  unread = rows();
  return descriptor;
};
fs.readSync = (file, buffer, ...rest) => {
  if (file !== descriptor) return readSync(file, buffer, ...rest);
  const length = buffer.write(unread, "latin1");
  unread = unread.slice(length);
  return length;
};
fs.closeSync = (file) => (file === descriptor ? undefined : closeSync(file));
