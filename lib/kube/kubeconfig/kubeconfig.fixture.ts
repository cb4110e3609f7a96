/** A kubeconfig with every accepted field, made for tests: its key opens nothing. */

export const authority =
  "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUJlekNDQVNHZ0F3SUJBZ0lVWTlzRnpTSzh1N1FBWS84NzNr" +
  "NTRUTTdCVk40d0NnWUlLb1pJemowRUF3SXcKRWpFUU1BNEdBMVVFQXd3SGRHVnpkQzFqWVRBZ0Z3MHlOakV4TWpN" +
  "eE56QXlOVEJhR0E4eU1USTJNVEF6TURFMwpNREkxTUZvd0VqRVFNQTRHQTFVRUF3d0hkR1Z6ZEMxallUQlpNQk1H" +
  "QnlxR1NNNDlBZ0VHQ0NxR1NNNDlBd0VICkEwSUFCT3pxYU13cUhnRFVjQlN6ZnM5TmYwTHh3cENtZUR1cGJnWHpl" +
  "Zm5aZkIra1Y3eU8rcis3aWQvKy9uMWwKRW5ucFBoQUJGUlh4S0N3RFJEL1BvNTA3TFEralV6QlJNQjBHQTFVZERn" +
  "UVdCQlIrU3d6NWJIVUxjWE1CK09RZwpPSXlDTmw2VXpEQWZCZ05WSFNNRUdEQVdnQlIrU3d6NWJIVUxjWE1CK09R" +
  "Z09JeUNObDZVekRBUEJnTlZIUk1CCkFmOEVCVEFEQVFIL01Bb0dDQ3FHU000OUJBTUNBMGdBTUVVQ0lGQVZQLzBX" +
  "ek1Lc1puRUVLcHZUMkVlVlRrTmUKZVJ0SDdtTWxDREJNTjRCckFpRUEydEk1MjNla1QwQUtBT2VoVGtUZ2gvdFJF" +
  "MW5ycUVleFc3QkFTM3FUVG1nPQotLS0tLUVORCBDRVJUSUZJQ0FURS0tLS0tCg==";

export const certificate =
  "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUJlVENDQVNDZ0F3SUJBZ0lVTjZHNkVLTWFGT2NrTCt5bDVS" +
  "b21JS3dtOTdRd0NnWUlLb1pJemowRUF3SXcKRWpFUU1BNEdBMVVFQXd3SGRHVnpkQzFqWVRBZ0Z3MHlOakV4TWpN" +
  "eE56QXlOVEJhR0E4eU1USTJNVEF6TURFMwpNREkxTUZvd0VURVBNQTBHQTFVRUF3d0dZMnhwWlc1ME1Ga3dFd1lI" +
  "S29aSXpqMENBUVlJS29aSXpqMERBUWNEClFnQUVzaTd2dnpabXhvU1VMb0Y2K0VwQjlYNGxZY2EzNlBCRDcxcHUx" +
  "eTN6WjFHWDBTd1JHaVo5Q25WeGVpRzAKWVE1ejNlUURaS1o2a0xaeEl6TkpydVRiM2FOVE1GRXdIUVlEVlIwT0JC" +
  "WUVGQXpEZy9hVUwweG5Dc2kwZEhqKwpyWTlWUnl6NU1COEdBMVVkSXdRWU1CYUFGSDVMRFBsc2RRdHhjd0g0NUNB" +
  "NGpJSTJYcFRNTUE4R0ExVWRFd0VCCi93UUZNQU1CQWY4d0NnWUlLb1pJemowRUF3SURSd0F3UkFJZ1haZ1kzbGNR" +
  "Zm9OcSt3Q0l0ZHAxUWhLQ3F5YjcKRWgvKzd6cTZsb3JtNGc4Q0lIYjdoMWIveEJLMUxhY2JvelZydTVDZVovU2xR" +
  "UlJJdU56cm9GMVc2VVE1Ci0tLS0tRU5EIENFUlRJRklDQVRFLS0tLS0K";

export const key =
  "LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0tCk1JR0hBZ0VBTUJNR0J5cUdTTTQ5QWdFR0NDcUdTTTQ5QXdFSEJH" +
  "MHdhd0lCQVFRZ1p5N2FsS1piK3Bnc3NBOVQKL082eTRMT0c4ZVdyM3pleDBobm1XMy9lWVoraFJBTkNBQVN5THUr" +
  "L05tYkdoSlF1Z1hyNFNrSDFmaVZoeHJmbwo4RVB2V203WExmTm5VWmZSTEJFYUpuMEtkWEY2SWJSaERuUGQ1QU5r" +
  "cG5xUXRuRWpNMG11NU52ZAotLS0tLUVORCBQUklWQVRFIEtFWS0tLS0tCg==";

export const token = "planted-token-3f9a";

export type Fields = Record<string, unknown>;

/** A kubeconfig with a token only; `cluster`, `user` and `top` override its fields. */
export function kubeconfig(
  cluster: Fields = {},
  user: Fields = { token },
  top: Fields = {},
): Fields {
  return {
    apiVersion: "v1",
    kind: "Config",
    clusters: [
      { name: "other", cluster: { server: "http://other" } },
      {
        name: "guest",
        cluster: {
          server: "https://guest.example:6443",
          "certificate-authority-data": authority,
          ...cluster,
        },
      },
    ],
    users: [
      { name: "other", user: { exec: { command: "/bin/sh" } } },
      { name: "guest-admin", user },
    ],
    contexts: [{ name: "guest", context: { cluster: "guest", user: "guest-admin" } }],
    "current-context": "guest",
    ...top,
  };
}
