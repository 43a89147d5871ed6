// SPDX-License-Identifier: MIT

/// Certificates for servers on 127.0.0.1, valid 2020 to 2120 unless named otherwise; their keys protect nothing.
enum Certificates {
    /// Signed all below but `selfSigned`.
    static let authority = """
        -----BEGIN CERTIFICATE-----
        MIIBbjCCAROgAwIBAgIBATAKBggqhkjOPQQDAjAdMRswGQYDVQQDDBJ0b2tlbmFn
        ZW50IHRlc3QgQ0EwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMB0x
        GzAZBgNVBAMMEnRva2VuYWdlbnQgdGVzdCBDQTBZMBMGByqGSM49AgEGCCqGSM49
        AwEHA0IABNbYLWOZolXWoPuADue8vnNrxGMRdi1x004xnQMkkHdpdJPgCZOx2FRd
        e5RuDkj0IJEbJHiGVVI2OdfJ/IVyYFOjQjBAMA8GA1UdEwEB/wQFMAMBAf8wDgYD
        VR0PAQH/BAQDAgIEMB0GA1UdDgQWBBROAX1hRgSfuxNo5/aVJzLBsB82sTAKBggq
        hkjOPQQDAgNJADBGAiEA3en+MI9PmE8/+/KuV9btb7iY3YftCk3y9EEPM6XDQoUC
        IQDzBdClOTinyIK7Ej1MCK/AK189CPpLa4vUFOyNZD5nvw==
        -----END CERTIFICATE-----
        """

    /// For 127.0.0.1 and localhost.
    static let good = """
        -----BEGIN CERTIFICATE-----
        MIIBnDCCAUGgAwIBAgIBAjAKBggqhkjOPQQDAjAdMRswGQYDVQQDDBJ0b2tlbmFn
        ZW50IHRlc3QgQ0EwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMA8x
        DTALBgNVBAMMBGdvb2QwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAARotCJLcU3L
        OICwK9o/Ebd+kEdt3YnX48z3cNwM9U2oXiZVKzUjhplEqPeBEMZy/jpKEpBtiLC+
        SMd1zGCkf+hfo34wfDAaBgNVHREEEzARhwR/AAABgglsb2NhbGhvc3QwCQYDVR0T
        BAIwADATBgNVHSUEDDAKBggrBgEFBQcDATAdBgNVHQ4EFgQUeuwT12kyVlJqDGKf
        /1Rz2Oqen50wHwYDVR0jBBgwFoAUTgF9YUYEn7sTaOf2lScywbAfNrEwCgYIKoZI
        zj0EAwIDSQAwRgIhANmNxmKzfqje5GBSt7lGxyaANR1uo7t3pNlB5WE9SwK8AiEA
        71gIzt3BbJRNeZaCAaSsxnAx2bdPfpc0+dsDfQfQzVg=
        -----END CERTIFICATE-----
        """

    /// The key of `good`.
    static let goodKey = """
        -----BEGIN EC PRIVATE KEY-----
        MHcCAQEEIPkqs59H+FqB/HS+DMvFKltUVe1PAOkKCcpG7NhttnwooAoGCCqGSM49
        AwEHoUQDQgAEaLQiS3FNyziAsCvaPxG3fpBHbd2J1+PM93DcDPVNqF4mVSs1I4aZ
        RKj3gRDGcv46ShKQbYiwvkjHdcxgpH/oXw==
        -----END EC PRIVATE KEY-----
        """

    /// For other.example only.
    static let other = """
        -----BEGIN CERTIFICATE-----
        MIIBmTCCAUCgAwIBAgIBAzAKBggqhkjOPQQDAjAdMRswGQYDVQQDDBJ0b2tlbmFn
        ZW50IHRlc3QgQ0EwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMBAx
        DjAMBgNVBAMMBW90aGVyMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEsTRaA5q9
        0ozbfXDoFxYeCFNAvcCBVqid6ibSICEEWTUzA9IktCNgA/oK3uZlOvvQd1dSsIhl
        ZAIQt7xrvgT5h6N8MHowGAYDVR0RBBEwD4INb3RoZXIuZXhhbXBsZTAJBgNVHRME
        AjAAMBMGA1UdJQQMMAoGCCsGAQUFBwMBMB0GA1UdDgQWBBR6agjHC/Zd3IJgxJPq
        ZfhH7N+WADAfBgNVHSMEGDAWgBROAX1hRgSfuxNo5/aVJzLBsB82sTAKBggqhkjO
        PQQDAgNHADBEAiBuRUKFKRVLhk4McJnCSXjzeTvZFLo0RiN1ZhGLxTlf5QIgOizD
        ADNEBjGuDaFb1aue+NDYAnepAZO881kxEv3pjXs=
        -----END CERTIFICATE-----
        """

    /// The key of `other`.
    static let otherKey = """
        -----BEGIN EC PRIVATE KEY-----
        MHcCAQEEIPTt+jDjdEGkI8wKlZJTJz+VwVTrwxY2giWFl6rQN6u7oAoGCCqGSM49
        AwEHoUQDQgAEsTRaA5q90ozbfXDoFxYeCFNAvcCBVqid6ibSICEEWTUzA9IktCNg
        A/oK3uZlOvvQd1dSsIhlZAIQt7xrvgT5hw==
        -----END EC PRIVATE KEY-----
        """

    /// Valid until 2021.
    static let expired = """
        -----BEGIN CERTIFICATE-----
        MIIBmzCCAUKgAwIBAgIBBDAKBggqhkjOPQQDAjAdMRswGQYDVQQDDBJ0b2tlbmFn
        ZW50IHRlc3QgQ0EwHhcNMjAwMTAxMDAwMDAwWhcNMjEwMTAxMDAwMDAwWjASMRAw
        DgYDVQQDDAdleHBpcmVkMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE1LzHsXd5
        /+vqwp3YWjsZe/Xr9YakQVapOiZ+QFw6Y0ryqS3bmq/x7KSQcYoRgtVj7k3f3IJ2
        Fy9rPkQOSNwRdaN+MHwwGgYDVR0RBBMwEYcEfwAAAYIJbG9jYWxob3N0MAkGA1Ud
        EwQCMAAwEwYDVR0lBAwwCgYIKwYBBQUHAwEwHQYDVR0OBBYEFF80DRSXFdL+7Kc6
        2jVmFe9IQ9P7MB8GA1UdIwQYMBaAFE4BfWFGBJ+7E2jn9pUnMsGwHzaxMAoGCCqG
        SM49BAMCA0cAMEQCIFeYsBnHh8uHV5KzFOZeyFfYVCP2HfIUNCfKFkljs5a1AiAt
        gEiRO9l2s6xCdD590B5uSgIUnptg/tDtul5LzCnrvQ==
        -----END CERTIFICATE-----
        """

    /// The key of `expired`.
    static let expiredKey = """
        -----BEGIN EC PRIVATE KEY-----
        MHcCAQEEIEbUHvF6DjMZKyUMtRvskNYPmbOTZWjzDakAD3ZxAqKaoAoGCCqGSM49
        AwEHoUQDQgAE1LzHsXd5/+vqwp3YWjsZe/Xr9YakQVapOiZ+QFw6Y0ryqS3bmq/x
        7KSQcYoRgtVj7k3f3IJ2Fy9rPkQOSNwRdQ==
        -----END EC PRIVATE KEY-----
        """

    /// Valid from 2110 on.
    static let future = """
        -----BEGIN CERTIFICATE-----
        MIIBnTCCAUOgAwIBAgIBBTAKBggqhkjOPQQDAjAdMRswGQYDVQQDDBJ0b2tlbmFn
        ZW50IHRlc3QgQ0EwIhgPMjExMDAxMDEwMDAwMDBaGA8yMTIwMDEwMTAwMDAwMFow
        DzENMAsGA1UEAwwEZ29vZDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABGi0Iktx
        Tcs4gLAr2j8Rt36QR23didfjzPdw3Az1TaheJlUrNSOGmUSo94EQxnL+OkoSkG2I
        sL5Ix3XMYKR/6F+jfjB8MBoGA1UdEQQTMBGHBH8AAAGCCWxvY2FsaG9zdDAJBgNV
        HRMEAjAAMBMGA1UdJQQMMAoGCCsGAQUFBwMBMB0GA1UdDgQWBBR67BPXaTJWUmoM
        Yp//VHPY6p6fnTAfBgNVHSMEGDAWgBROAX1hRgSfuxNo5/aVJzLBsB82sTAKBggq
        hkjOPQQDAgNIADBFAiA0Z4j7Ld5/UIM/tKLRQIXMe1NqAzQ2b8H3RprzCDNwyAIh
        AKPUaf07YIij94tLNJ6zhigziCOohFqDqd9xWffEjrZD
        -----END CERTIFICATE-----
        """

    /// For 127.0.0.1, signed by nobody else.
    static let selfSigned = """
        -----BEGIN CERTIFICATE-----
        MIIBQDCB56ADAgECAgEGMAoGCCqGSM49BAMCMA8xDTALBgNVBAMMBHNlbGYwIBcN
        MjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMA8xDTALBgNVBAMMBHNlbGYw
        WTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAATLjeJvjqSoCC3GWu6uOZGUEQh59dNZ
        QZGFuBGAb9IYFHdWW5C+KNTCfYzHC3nqKGlT3wFKhR+QJ2SulBZhT00vozIwMDAP
        BgNVHREECDAGhwR/AAABMB0GA1UdDgQWBBTKm05uz0h2oj4x8SN8m8NXjhu6FjAK
        BggqhkjOPQQDAgNIADBFAiAUyhEpXM2OU70SiXu4Hl05Bg2UAj531u4nYGZA9NB+
        kgIhAKlzbMptPUtSyaQJ8hTRjg5UQcIW4yJXuromkNzbNK9U
        -----END CERTIFICATE-----
        """

    /// The key of `selfSigned`.
    static let selfSignedKey = """
        -----BEGIN EC PRIVATE KEY-----
        MHcCAQEEIMK6mmQspuXWSLzJr8cgpxjpH6X28VlOJH7Xab+OTeTpoAoGCCqGSM49
        AwEHoUQDQgAEy43ib46kqAgtxlrurjmRlBEIefXTWUGRhbgRgG/SGBR3VluQvijU
        wn2Mxwt56ihpU98BSoUfkCdkrpQWYU9NLw==
        -----END EC PRIVATE KEY-----
        """

    /// The pin of the key of `good`.
    static let goodPin = "sha256/KXxdy3pcR0xQdH9Tddo8RduoU5wdlCJUjiNnmnyhCLA="
}
