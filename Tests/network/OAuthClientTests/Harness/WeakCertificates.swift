// SPDX-License-Identifier: MIT

/// Certificates for 127.0.0.1 that nobody should accept any more; valid until 2126, their keys protect nothing.
enum WeakCertificates {
    /// Signed the others; as strong as it should be.
    static let authority = """
        -----BEGIN CERTIFICATE-----
        MIIDLzCCAhegAwIBAgIUXFuLgc4cWbFRJHm03Yg1t96vclcwDQYJKoZIhvcNAQEL
        BQAwJjEkMCIGA1UEAwwbdG9rZW5hZ2VudCB0ZXN0IGF1dGhvcml0eSAyMCAXDTI2
        MTEyMTEyMDY0OFoYDzIxMjYxMDI4MTIwNjQ4WjAmMSQwIgYDVQQDDBt0b2tlbmFn
        ZW50IHRlc3QgYXV0aG9yaXR5IDIwggEiMA0GCSqGSIb3DQEBAQUAA4IBDwAwggEK
        AoIBAQC5eyK6s5p4ZbLMpBpWbdxnbdh6KYkgWxtByL+OTq6n/gkgjr5XgeETWni0
        dzMTzDMXnC2zGwfXPl4i2kiyMq6uOl2iSO75G8kkrfmim1uAysreR8wrSRY1nHXY
        UN928cAD/dyvJtSHV2q9DkaSpUo2AjOOqkldbGhKpqH4+fJB+uB1rs8kA/6ZkB2Z
        kX4Gp5zK7ryWSSzEjWs5FD8gEOJHPDYWQCEea0lUSIpkdJPADlSkzAAPbkA8CA/M
        /x/qyZ3rMuzbGX+jU0Yl7m3KbGdPE/WrBv8i3tQAD1Boscx931H5aJFUcSzVvnJX
        8frRHIGZ9Bkd4bLZnIv5kGYP6/vzAgMBAAGjUzBRMB0GA1UdDgQWBBRVES1uUu/q
        pkud/poi+/pvzQyYBjAfBgNVHSMEGDAWgBRVES1uUu/qpkud/poi+/pvzQyYBjAP
        BgNVHRMBAf8EBTADAQH/MA0GCSqGSIb3DQEBCwUAA4IBAQAAulsqsfeLTjEgJ8sI
        og1FLcJQGheMLV3MOvVCsib43Y+A+64O8O94jW+O88zmbarX81zUNzoqpIDJ75qx
        I1YoswirbQ/oRrZQGhpW0e92dKAD53cb5YQeCwZ2xZQqwzdJxvmmgYUr37TWBcAn
        DJeCGrUrn9OnD93A8afgIjGCrsOz7+KSQEkAMRUMWeBiqZNNWxnoRMXmTTGjOtZE
        IVTPp4meEe34rMeSmp5vvesp8IOmt5m9nF6RKHSDP/E6IjnVjyZir5X0jOLm2PG3
        fz7emkr6ta1I+rkPNBbLUMqr34U1u+hWWe/rJmYOdVCKXBfLe8R2tJgkBMMswDUt
        ndkz
        -----END CERTIFICATE-----
        """

    /// Signed with SHA-1.
    static let sha1 = """
        -----BEGIN CERTIFICATE-----
        MIIDMjCCAhqgAwIBAgIUPdZOM9XQEqyfVxRsaxtXTznXJBEwDQYJKoZIhvcNAQEF
        BQAwJjEkMCIGA1UEAwwbdG9rZW5hZ2VudCB0ZXN0IGF1dGhvcml0eSAyMCAXDTI2
        MTEyMTEyMDY0OFoYDzIxMjYxMDI4MTIwNjQ4WjAUMRIwEAYDVQQDDAkxMjcuMC4w
        LjEwggEiMA0GCSqGSIb3DQEBAQUAA4IBDwAwggEKAoIBAQC5fbYpeCeUM/jn9Ruu
        N210LHSfFAdYklCmgw21arNmqkFBUCK4kDyoEv4oyoOyjL03e05fqMFDsMXmxsrA
        uo+jlJ7EwkgybsZHKmEyBxKiSrvSOm5GJrBkqzQV0JlkPXGRYza3X4Mmr7kMbWUF
        fpfKooEgTCwiivmz2oiz8sPQtYMYa4Kr5k6NhaptkpO7YFIt3U31vxYuz98IjPPt
        ifPR3WmpkIRNxP6pMANQBkpB5tvHtiI9PQsCjuyl3FZDWDUME1DYiGEZsEf2I44y
        +YwRRseK1lepmSXP1v+eKM8p0Pm08FKdSENO6/0exUv4UBqoNVQs8hk6Eyn0+1pw
        1JLNAgMBAAGjaDBmMA8GA1UdEQQIMAaHBH8AAAEwEwYDVR0lBAwwCgYIKwYBBQUH
        AwEwHQYDVR0OBBYEFAiv+tw/5bxH0JjXzqmmTikvxtqLMB8GA1UdIwQYMBaAFFUR
        LW5S7+qmS53+miL7+m/NDJgGMA0GCSqGSIb3DQEBBQUAA4IBAQAlZcvTCPmgo2SK
        YCLAWrj+keiOfhfkhC5d4MERJ7YpcJdVZAyjw1nL3Mh/oVvMNGFsShdv5nJx0qMx
        Q4/sJ2wNEDzqqwStu7apIwJ0QAjHGZBtFf9FCCHQFFKkedCNjkL2TqYWWfS90ldm
        Tll4FUwbHsT7gFCvg1xKRCjB6/vpLp04wIZrfCgav84xj5sdJclq9Y2Oi3NYM9aj
        b7QtzQ6VaJpL5TOCWTBtl4qBcXleGuguQp9wVGEZAd8xrCnq5bxzxJ+zOf1ZybYz
        e9Xa/x12+gBHdthdBtRgf0Z5/2ykPmOnV4kSWCQ26vQ/QM8rflWzMXF+4Hw8PRhL
        rOs8sBDA
        -----END CERTIFICATE-----
        """

    /// The key of `sha1`.
    static let sha1Key = """
        -----BEGIN PRIVATE KEY-----
        MIIEvwIBADANBgkqhkiG9w0BAQEFAASCBKkwggSlAgEAAoIBAQC5fbYpeCeUM/jn
        9RuuN210LHSfFAdYklCmgw21arNmqkFBUCK4kDyoEv4oyoOyjL03e05fqMFDsMXm
        xsrAuo+jlJ7EwkgybsZHKmEyBxKiSrvSOm5GJrBkqzQV0JlkPXGRYza3X4Mmr7kM
        bWUFfpfKooEgTCwiivmz2oiz8sPQtYMYa4Kr5k6NhaptkpO7YFIt3U31vxYuz98I
        jPPtifPR3WmpkIRNxP6pMANQBkpB5tvHtiI9PQsCjuyl3FZDWDUME1DYiGEZsEf2
        I44y+YwRRseK1lepmSXP1v+eKM8p0Pm08FKdSENO6/0exUv4UBqoNVQs8hk6Eyn0
        +1pw1JLNAgMBAAECggEAF+cPBXACKv25hOvXxHmdr/tB5J/tmb3Hs8quhmK4udxA
        VXIbT0zoQWuqdxza9LQLIVj74/rN5h2jmutMrveQ0UOyY+jPPznOxivmuM4i2hP8
        Tl5mMxcC4wNmzlWCTAxY6U3E0W4hled4q+p1j/bcs5QrmeWxnZqVYSuiMwzFAUyy
        UUgtmSV6K1VZzC6pYRPMJO9sC/H6f3ZCmA/K39JenYRNaBGnHLZUsQcb3Cv9Sh0D
        gn5HAQobu95KSo08sEwTOEFwDR3EA+DEcQpukF77Kt7hj3VGMioVYBgbcWq6IVay
        Teq1eegkquiqhAFb0Y4nJp3g5HQuoPYts0ymIvcJNwKBgQDoEr2oiAs1tyXgGxNf
        losrjrrwBY2Xk7PmpF0R5naVVI0nL3BfCp0CUQquid1sr6OrNrZ+b0rHedSm4GPt
        R55oRduWUhAHA95SLJBOvNwrx0qp2BUZo1fqoAJ7PqJ7U0K1EkEdx+G1XEx+UHKg
        xdMTKr3kcL5pmsQ2oggdUJDs1wKBgQDMnX9yPJ6Txz9ORkwMXZ/EhWQq1tsVXYZ1
        dsXA2KyF/GoIhF6gK9jZ2ij+Chx5QHKzsOO00h8AusTY1ejLRdauzLcQp04LvIYp
        kXL3Wi4FnyX13dW9S9cjjBlXkctDaVKENsd0g1geO1/rtgVGPeHIuTfQV+X4eHzz
        bkg1Zx8E+wKBgQDkDr6oZoC1mbSzxYfFULiU5l9YTey1/yU0S2NWmub/mqZX0quY
        CmL/Csr3eG3LR9MMBulR2GZhHp1WHH62h8HocHX5A83SRv/sOvTZG4k10FPUEo+x
        sS5NWE739DZSASE1tamd7XYl9n0JSF9NFPp3BHK1kgHc34VgttxIiorQ4wKBgQC/
        rVbjW/gtdXxPRjkdaGMvhMnl+6n2JMu9pArycceEKIXn/qBqKUkWI3E9MZmk2IPa
        4v0cua3DUDLw8coHCiBnVWy0lBXflraToCZzoq30JDc6UJpWnwIl0as3xmMEfliH
        dI16D0Rv5a0gsT3VpEircR7g9EaBcdWTcR8Br912GwKBgQCAWtSDjhLVJhzAUdzp
        I5eRjicjOXfu/C3eLHZdrqr1NU3neGwgD8LpO4oq+iVLMzBxC7ARVyk+aTwtXizF
        uhBMq/MuiZOAxWSZm25g9BM5jf5M15gHtJInYMEaGbY5u5goLUX+FRz3l8gANq5b
        cVNyN9j6O4XZrV9vadO5o7b2FA==
        -----END PRIVATE KEY-----
        """

    /// Its RSA key has 1024 bits.
    static let short = """
        -----BEGIN CERTIFICATE-----
        MIICrjCCAZagAwIBAgIUPdZOM9XQEqyfVxRsaxtXTznXJBIwDQYJKoZIhvcNAQEL
        BQAwJjEkMCIGA1UEAwwbdG9rZW5hZ2VudCB0ZXN0IGF1dGhvcml0eSAyMCAXDTI2
        MTEyMTEyMDY0OFoYDzIxMjYxMDI4MTIwNjQ4WjAUMRIwEAYDVQQDDAkxMjcuMC4w
        LjEwgZ8wDQYJKoZIhvcNAQEBBQADgY0AMIGJAoGBALl7lqgfW55zfywP7W+2zqO6
        Wy+cAJVu5tvI0eFRB0w6PX5y1qlNCqdaX2uHwcxafpDZO0Y0+ZyOm7E02QbZcqv3
        kh8LNsbVen9hToQyLtm935Sa0lE9kxSDF4VrlBGVt4e+CSP/QsL7yXdkIFGfZ5Ct
        FgsOb5Hm1wjrXbxjalWNAgMBAAGjaDBmMA8GA1UdEQQIMAaHBH8AAAEwEwYDVR0l
        BAwwCgYIKwYBBQUHAwEwHQYDVR0OBBYEFO6P4DGSN2ApE2xnZMxHngYwpVa1MB8G
        A1UdIwQYMBaAFFURLW5S7+qmS53+miL7+m/NDJgGMA0GCSqGSIb3DQEBCwUAA4IB
        AQBsAVDm6YzID6tf+EwEX5JEUtGqFO9B/ADXixGl6VSA1mpzlDRcZEotDyGtJVgv
        7FQxC+wA8kkKpg9W5nP70/7g8mRIsqKPgSp498K+wU8fZNIZGt+hbOl+mSph9RvN
        IPMn+o0XoZZZU3WVjd5mYIazklouKBk2iWyqzWNMCFo3+gS2ttU10g0sp8l8m6gw
        SNJRP7YDgsIj54GuJKHcFRZ5ZITxENr3ilaP1xUby1h+MS02dk6MCAfwLWGZiG+4
        7GWygPOPBySlTrx2sqPdiPnWC6W+bg+9MMluEsgZTlglV1ccnkbHnExme0cION+O
        t/LHRKo2avfz5Xro6a1hsi7u
        -----END CERTIFICATE-----
        """

    /// The key of `short`.
    static let shortKey = """
        -----BEGIN PRIVATE KEY-----
        MIICdwIBADANBgkqhkiG9w0BAQEFAASCAmEwggJdAgEAAoGBALl7lqgfW55zfywP
        7W+2zqO6Wy+cAJVu5tvI0eFRB0w6PX5y1qlNCqdaX2uHwcxafpDZO0Y0+ZyOm7E0
        2QbZcqv3kh8LNsbVen9hToQyLtm935Sa0lE9kxSDF4VrlBGVt4e+CSP/QsL7yXdk
        IFGfZ5CtFgsOb5Hm1wjrXbxjalWNAgMBAAECgYA356k0CSeLLZKSDEbrWfUUYjHj
        uqhuYdvROMkRmWOStScduq06oA7q/BEwjt15o3jsXZ1A/uyRJGaG1b/oEZg++tlw
        Ho2e/5+VdIseC8txwkFqOEjA1Tiysu3J8cXXQL2dhIiSRzSgt4xCN4CYeAmEbY3o
        cU04pD2AF5lEwe2WXQJBAO7ZEJ8bNrFAXKDA1QBXi6lwIhPe3boQj8xJlY7MW1uC
        QOugcCf/ow1JqxUXCJFrESfdXo69CI+biZ2Grwk7FVsCQQDGzXgFXRudTivFTWhl
        IW3p4p4DFS9K1CEBFc1XruFJPlUWyPw2dH2XeQXks5FjtE35IbwMVNKzn3Dg1A3D
        s203AkEAg0cRSLIXdIMQplZ2fFKh88YrJMrJCbySnNEQ/8S4repAroGnQ4TRZLtJ
        6jSXw/2aF1Qn5cJmkzAFCmz9hdBQowJAPuCNrWSdb0tiHK0274V7NhYu09rHcmtV
        ZPp4T9tH9dp5HxPCcZa2gkoMyyDgQyCr6Lf6ugu5+IXdNb7b+6GsUQJBAL2gXVW/
        H9Y6hI4MUkild06FQBMZdZRocH9Q7sT4Hs3LhQ54ovyOQL9zs+ApYq/eAnGAqFr3
        gKWeO7VqRGUUnOw=
        -----END PRIVATE KEY-----
        """
}
