/**
 * For tests: certificates (their private keys are not stored), and a function that decrypts a
 * sealed value.
 */
import { Buffer } from "node:buffer";
import { constants, createDecipheriv, type KeyObject, privateDecrypt } from "node:crypto";

/** The certificates `east` and `west` are valid for a hundred years. */
export const east = `-----BEGIN CERTIFICATE-----
MIIDATCCAemgAwIBAgIUesKzVgf3PdEqRSIhprS3jKkmWMswDQYJKoZIhvcNAQEL
BQAwDzENMAsGA1UEAwwEZWFzdDAgFw0yNjExMjMxNzE2NDFaGA8yMTI2MTAzMDE3
MTY0MVowDzENMAsGA1UEAwwEZWFzdDCCASIwDQYJKoZIhvcNAQEBBQADggEPADCC
AQoCggEBANgYiumEMBddt9CrJMwy76s/rITxM76twgV7ehgxqxd21pfknvZXLIlv
Gg+MeyP1OVBqTQjZsiODlSUbuoRo7mg371xaWzfgRkr1RWSSvj6x2PRgcIP5z1G4
y+79UhrWANxAec0Q9exXqnIaNqoQYk0kkejPBrzKCV1dNVR9vJ632Bx6wDxCOQiV
d1/2AfhU0sbHibMVUDBN6fa861PBtoPRIfxlt7HlyUykno0VgvDmWSiDG9MN7Lh/
BcWiEdZwy2dTkgpHO74j+pehCD8bQ2FMhKa/XW6D21ju66AlnvNvKRsc1Sfthh3a
Z1BjhoKDJGDKqd7NRA5MhIb5r+I4y3sCAwEAAaNTMFEwHQYDVR0OBBYEFOHk1qgL
f7p76dH6bz8vKsEOuOxHMB8GA1UdIwQYMBaAFOHk1qgLf7p76dH6bz8vKsEOuOxH
MA8GA1UdEwEB/wQFMAMBAf8wDQYJKoZIhvcNAQELBQADggEBAI8hnggyv7TsqAGF
OTGV8oCmXjniT0nmx8gwYVt8L2dZpnK4qui/gLhIB6pSP5TnP32LcUYzl50w9kqA
3WHHgIPMGRWLT3n/cpGoFhCZhtveTdRmCMzuontQ1nSAbAsP+jN/z8QzZOzksVWr
grPHPaN2R+2C0aSH/QnqM1xprri1glRoMkwsEUAzKKI2xig8rgXrCnzLHnLKGr8A
6wPO4Ix2z+4frnt2UaBbHYDOHiSOsFWk0nafVuadrLcljztymL8W/98nqJwwrjU6
/O1CKSfoeelN/89AULlH90a+/2s6KNgFB9emEK42SNwGgxMRT6tPmPIcSRqbscpd
/t2EnGY=
-----END CERTIFICATE-----
`;
export const west = `-----BEGIN CERTIFICATE-----
MIIDATCCAemgAwIBAgIUBSHNchDLEXnNOHCsYe0rHpsH6uEwDQYJKoZIhvcNAQEL
BQAwDzENMAsGA1UEAwwEd2VzdDAgFw0yNjExMjMxNzE2NDFaGA8yMTI2MTAzMDE3
MTY0MVowDzENMAsGA1UEAwwEd2VzdDCCASIwDQYJKoZIhvcNAQEBBQADggEPADCC
AQoCggEBAOXZ+F5RF4r6A7AfVmA6RgSdIFq3WUotwqjrjbRAhpyp6u9/7q1LBw5F
up25AdYhfbNhB9o3VhmV8uJElLentRX5osb4huI+s3hVB/f51fwZ1+ZEkPhARr7X
GbkiDbvkQXzXlkzgrQxVBY3UxbY3zZ1zh3h+QvbgN6LXyP20YmUSGfMXQg6q7kLU
8CnTbaCrOrqJgL90QTFo95gRXHBmVEoeVNHIpToFKoU01QvLNGBuW3vFummt5qHK
SGd66MpCkyQquxJngX/eInuf5JEZYu/+DFn+8vfHbmSGMskDGckFJeoW3xQ1+tOb
vdzCdSajNYSi5r7wP2HpbtCQVP4NFjMCAwEAAaNTMFEwHQYDVR0OBBYEFL82piQS
cACf1oJCWRm9nD/b1Um7MB8GA1UdIwQYMBaAFL82piQScACf1oJCWRm9nD/b1Um7
MA8GA1UdEwEB/wQFMAMBAf8wDQYJKoZIhvcNAQELBQADggEBAKyneTcQN97f5Axm
dhCCBVIrWYi0ncMQYtoH+2ikVT/9CO7aFfWqblu31xpdeXL2e53U8DxYhnzWKAKn
RxJoH4r6nvSoUKMqNp3JgSiEjsD9P86AmURIVhS6rq3QEghP1WZrmAnx3l/0vG5S
MI+emztq18cWkRRogHXDHKf5cEnCMR248xVwUbJldTeHyumzlIoy4rrQcxHQvJPO
GCzLrkW94hBS9iIYaUct0LhqSn+AyxpJDjag7keFhoCBz+B2CF8CIlS50h1cAMkI
HeWid3sOeeT5vQ/FuogqGdbNQx+8novzEAhfWy43G76qRcE7HG8EFiMeAvJHWxDZ
AzrjcWY=
-----END CERTIFICATE-----
`;
export const broken = {
  "was valid until 2020-02-01T00:00:00.000Z": `-----BEGIN CERTIFICATE-----
MIICkDCCAXgCAQEwDQYJKoZIhvcNAQELBQAwDjEMMAoGA1UEAwwDb2xkMB4XDTIw
MDEwMTAwMDAwMFoXDTIwMDIwMTAwMDAwMFowDjEMMAoGA1UEAwwDb2xkMIIBIjAN
BgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAmGBo4CmKeIEOweWhVqSGVbN4I6cf
B/lbMBbm9id91NVy/cOqVskfzKytW9OCgo9RDLvcQmgc7Ki3u7dQdIVgA+e+1JL/
y15Cia9IeR5CJrIgPo4Mmu7NSsyhMuSSGGw8rK94bHTtHinMulSbX6H0YqTEf5t/
JAQGdvr5WASj4Tq1t+6b+GnfnRWtyGnCZ1T3nH0lrek+QPnGAYw0FrmErd6Jn+88
ASXuwsegzpXGlhfOPsxCq8Sg7qSldnIl7NTfH3rRp9Xn58dPYWT5/mjNFTpqbZ0s
pCDUztm7go5O8ApdowR5tPeU9wmxJDxjyzdNSDMq7Y9AWGiojdsAwCHe+QIDAQAB
MA0GCSqGSIb3DQEBCwUAA4IBAQAV0Qc9tWjsbJoZm/NsWgbxCEQ77X74vD3vpcdY
p41UH2TAY0Ccb2MYVuWFiXsQiM0+M9C3SmND5Tk2XsO7VKNaisxBpHijdUIsWzVv
MqsOEpm/T+tk+hZgCpgcVdfs7rYb72HZJwEdhgv7gguuTsEYP3sld6lag1nnmE0f
GckqYq06WeiN1QddSEyoWAdTjA3MaJA7RILenoDbpgxNGog6U3yCplP1D0AJypIp
EK+z5xUHOj3AX1lABL23kRp295iuYgv7vOYjw1V7jeDE5E9FksscbaOaiwsYSpDH
6hbht1emLTmRWhycGCs5bpGkFpid93nUvnCuJc3BnPuwTGad
-----END CERTIFICATE-----
`,
  "its key is not RSA": `-----BEGIN CERTIFICATE-----
MIIBcDCCARegAwIBAgIUWRolrHw89pRqpAEORb5kV0RhST4wCgYIKoZIzj0EAwIw
DTELMAkGA1UEAwwCZWMwIBcNMjYxMTIzMTcxNjQyWhgPMjEyNjEwMzAxNzE2NDJa
MA0xCzAJBgNVBAMMAmVjMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE4nzyENPe
j7l3Htjtw4n0SUo/wUs75dLcFlbb0P4tcOvk1JhhP2bgxHcEDvEb79HjdPo/jYAr
6we7QH8GZ10pfaNTMFEwHQYDVR0OBBYEFDy1X4slJenB/NT1qP7mRp3nqMqTMB8G
A1UdIwQYMBaAFDy1X4slJenB/NT1qP7mRp3nqMqTMA8GA1UdEwEB/wQFMAMBAf8w
CgYIKoZIzj0EAwIDRwAwRAIgeWPT3wEms0xRBlCq1v1uVukrxEnCQ7NngQ3NahH2
jegCIHuY/lGaVMkMu1aAKT2Fl8NKP+YY3cxRN/+VQsUjhwav
-----END CERTIFICATE-----
`,
  "its key has fewer than 2048 bits": `-----BEGIN CERTIFICATE-----
MIIB/jCCAWegAwIBAgIUKsJdbjFVtmuXpkDviVBuLUMCd0kwDQYJKoZIhvcNAQEL
BQAwEDEOMAwGA1UEAwwFc2hvcnQwIBcNMjYxMTIzMTcxNjQyWhgPMjEyNjEwMzAx
NzE2NDJaMBAxDjAMBgNVBAMMBXNob3J0MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCB
iQKBgQDaArHulAvOliKTCxZ8O5OzgC2z/NqbQN645fVGOjcIhZDkUs82A0vxtuY2
Xk9YbZrIfx/wZidNR1pLmWcH57zFXVMBBByM4iuy2eAQNTd5wvmYN+RkDXRJngU9
ehq+5aMHiMk2RctwzTO7uA+j8paGpFWX0wFm6n/RipmgSn8V2QIDAQABo1MwUTAd
BgNVHQ4EFgQUBP3TtP9ViSI2bU6Hco0CwPNWfUUwHwYDVR0jBBgwFoAUBP3TtP9V
iSI2bU6Hco0CwPNWfUUwDwYDVR0TAQH/BAUwAwEB/zANBgkqhkiG9w0BAQsFAAOB
gQB2mnpeuy0TtXtfo5GariPD1kDxLTHrzSjWsuubPBcZgpXBkG7QuWuDcGDp5nj0
xYUzBFf2sE0PQt6Hp+VlCNbdv2j0uE6DPrG/CWmZjG2WII+mUt/ie08NEiFPiQjo
I6CpJFuvos/VorIAuKPmfPwenVtggRv1EwuzUAUEgZBnHw==
-----END CERTIFICATE-----
`,
};

/**
 * Decrypts a value like the controller of Sealed Secrets. Throws if the value was sealed for
 * another key.
 */
export function open(sealed: string, key: KeyObject, label: string): string {
  const bytes = Buffer.from(sealed, "base64");
  const end = 2 + bytes.readUInt16BE();
  const padding = constants.RSA_PKCS1_OAEP_PADDING;
  const oaep = { padding, oaepHash: "sha256", oaepLabel: Buffer.from(label) };
  const wrapped = privateDecrypt({ key, ...oaep }, bytes.subarray(2, end));
  const cipher = createDecipheriv("aes-256-gcm", wrapped, Buffer.alloc(12));
  cipher.setAuthTag(bytes.subarray(-16));
  return `${cipher.update(bytes.subarray(end, -16)).toString()}${cipher.final().toString()}`;
}
