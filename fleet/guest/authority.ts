/** Which authority signs for a cluster's server, however a kubeconfig writes it. Pure. */

const certificate = /-----BEGIN CERTIFICATE-----([^-]*)-----END CERTIFICATE-----/g;

/**
 * Base64 of PEM → its certificates as one text, the same whatever their order, their lines and what
 * stands between them.
 */
export function certificatesIn(authority: string): string {
  const text = Buffer.from(authority, "base64").toString();
  const found = Array.from(text.matchAll(certificate), ([, body = ""]) => body.replace(/\s/g, ""));
  // Where there is none, the text itself tells two clusters apart.
  return found.length === 0 ? text : [...new Set(found)].toSorted().join(" ");
}
