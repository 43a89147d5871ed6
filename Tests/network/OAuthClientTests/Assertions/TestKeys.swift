// SPDX-License-Identifier: MIT

/// Private keys in every form in which people have them; they protect nothing.
enum TestKeys {
    /// RFC 7515 §A.2.1.
    static let rsaJWK = """
        {"kty":"RSA",
        "n":"ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-p\
        CgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xs\
        mtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ",
        "e":"AQAB",
        "d":"Eq5xpGnNCivDflJsRQBXHx1hdR1k6Ulwe2JZD50LpXyWPEAeP88vLNO97IjlA7_GQ5sLKMgvfTeXZx9SE-7YwVol2NXOoAJe46sui395IW_GO-pW\
        J1O0BkTGoVEn2bKVRUCgu-GjBVaYLU6f3l9kJfFNS3E0QbVdxzubSu3Mkqzjkn439X0M_V51gfpRLI9JYanrC4D4qAdGcopV_0ZHHzQlBjudU2QvXt4eh\
        NYTCBr6XCLQUShb1juUO1ZdiYoFaFQT5Tw8bGUl_x_jTj3ccPDVZFD9pIuhLhBOneufuBiB4cS98l2SR_RQyGWSeWjnczT0QU91p1DhOVRuOopznQ",
        "p":"4BzEEOtIpmVdVEZNCqS7baC4crd0pqnRH_5IB3jw3bcxGn6QLvnEtfdUdiYrqBdss1l58BQ3KhooKeQTa9AB0Hw_Py5PJdTJNPY8cQn7ouZ2KKDc\
        mnPGBY5t7yLc1QlQ5xHdwW1VhvKn-nXqhJTBgIPgtldC-KDV5z-y2XDwGUc",
        "q":"uQPEfgmVtjL0Uyyx88GZFF1fOunH3-7cepKmtH4pxhtCoHqpWmT8YAmZxaewHgHAjLYsp1ZSe7zFYHj7C6ul7TjeLQeZD_YwD66t62wDmpe_HlB-\
        TnBA-njbglfIsRLtXlnDzQkv5dTltRJ11BKBBypeeF6689rjcJIDEz9RWdc"}
        """
    /// RFC 7515 §A.3.1.
    static let ellipticJWK = """
        {"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
        "y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0","d":"jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI"}
        """
    /// RFC 8037 §A.1.
    static let edwardsJWK = """
        {"kty":"OKP","crv":"Ed25519","d":"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A",
        "x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}
        """
    /// The key of ``edwardsJWK`` as PKCS#8 (RFC 8410 §7).
    static let edwards = """
        -----BEGIN PRIVATE KEY-----
        MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g
        -----END PRIVATE KEY-----
        """
    /// The key of ``rsaJWK`` as PKCS#1.
    static let rsaPKCS1 = """
        -----BEGIN RSA PRIVATE KEY-----
        MIIEowIBAAKCAQEAofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd/wWJcyQoTbji9k0
        l8W26mPddxHmfHQp+Vaw+4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL+yRT+SFd2lZS+pC
        gNMsD1W/YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb/7OMg0LOL+bSf63kpaSHSX
        ndS5z5rexMdbBYUsLA9e+KXBdQOS+UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uD
        Zlxvb3qCo5ZwKh9kG4LT6/I5IhlJH7aGhyxXFvUK+DWNmoudF8NAco9/h9iaGNj8
        q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQIDAQABAoIBABKucaRpzQorw35S
        bEUAVx8dYXUdZOlJcHtiWQ+dC6V8ljxAHj/PLyzTveyI5QO/xkObCyjIL303l2cf
        UhPu2MFaJdjVzqACXuOrLot/eSFvxjvqVidTtAZExqFRJ9mylUVAoLvhowVWmC1O
        n95fZCXxTUtxNEG1Xcc7m0rtzJKs45J+N/V9DP1edYH6USyPSWGp6wuA+KgHRnKK
        Vf9GRx80JQY7nVNkL17eHoTWEwga+lwi0FEoW9Y7lDtWXYmKBWhUE+U8PGxlJf8f
        40493HDw1WRQ/aSLoS4QTp3rn7gYgeHEvfJdkkf0UMhlknlo53M09EFPdadQ4TlU
        bjqKc50CgYEA4BzEEOtIpmVdVEZNCqS7baC4crd0pqnRH/5IB3jw3bcxGn6QLvnE
        tfdUdiYrqBdss1l58BQ3KhooKeQTa9AB0Hw/Py5PJdTJNPY8cQn7ouZ2KKDcmnPG
        BY5t7yLc1QlQ5xHdwW1VhvKn+nXqhJTBgIPgtldC+KDV5z+y2XDwGUcCgYEAuQPE
        fgmVtjL0Uyyx88GZFF1fOunH3+7cepKmtH4pxhtCoHqpWmT8YAmZxaewHgHAjLYs
        p1ZSe7zFYHj7C6ul7TjeLQeZD/YwD66t62wDmpe/HlB+TnBA+njbglfIsRLtXlnD
        zQkv5dTltRJ11BKBBypeeF6689rjcJIDEz9RWdcCgYAHAp9XcCSrn8wVkMVkKdb7
        DOX4IKjzdahm+ctDAJN4O/y7OW5FKebvUjdAIt2GuoTZ71iTG+7F0F+lP88jtjP4
        U4qe7VHoewl4MKOfXZKTe+YCS1XbNvfgwJ3Ltyl1OH9hWvu2yza7q+d5PCsDzqtm
        27kxuvULVeya+TEdAB1ijQKBgQCH/3r6YrVH/uCWGy6bzV1nGNOdjKc9tmkfOJmN
        54dxdixdpozCQ6U4OxZrsj3FcOhHBsqAHvX2uuYjagqvo3cOj1TRqNocX40omfCC
        Mx3bD1yPPf/6TI2XECva/ggqEY2mYzmIiA5LVVmc5nrybr+lssFKneeyxN2Wq93S
        0iJMdQKBgCGHewxzoa1r8ZMD0LETNrToK423K377UCYqXfg5XMclbrjPbEC3YI1Z
        NqMtuhdBJqUnBi6tjKMF+34Xf0CUN8ncuXGO2CAYvO8PdyCixHX52ybaDjy1FtCE
        6yUXjoKNXKvUm7MWGsAYH6f4IegOetN5NvmUMFStCSkh7ixZLkN1
        -----END RSA PRIVATE KEY-----
        """
    /// The same as PKCS#8.
    static let rsaPKCS8 = """
        -----BEGIN PRIVATE KEY-----
        MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQCh+BYK4uPJtGXO
        jS1lYmM2K5J9vinh8CR3/BYlzJChNuOL2TSXxbbqY913EeZ8dCn5VrD7io8ImtxL
        aYk8wTM/U+3QGbh3hCUv7JFP5IV3aVlL6kKA0ywPVb9ilE8TA5a8bpvfbr3SvaNn
        juygxmj3AbONv/s4yDQs4v5tJ/reSlpIdJed1LnPmt7Ex1sFhSwsD174pcF1A5L5
        ROjtZMEQxrZHYJqkeDrrnGya11UxMFBji4NmXG9veoKjlnAqH2QbgtPr8jkiGUkf
        toaHLFcW9Qr4NY2ai50Xw0Byj3+H2JoY2PyrZ62EWQwuz3WTOTY8BwNNb2BvniHg
        VFbK5emhAgMBAAECggEAEq5xpGnNCivDflJsRQBXHx1hdR1k6Ulwe2JZD50LpXyW
        PEAeP88vLNO97IjlA7/GQ5sLKMgvfTeXZx9SE+7YwVol2NXOoAJe46sui395IW/G
        O+pWJ1O0BkTGoVEn2bKVRUCgu+GjBVaYLU6f3l9kJfFNS3E0QbVdxzubSu3Mkqzj
        kn439X0M/V51gfpRLI9JYanrC4D4qAdGcopV/0ZHHzQlBjudU2QvXt4ehNYTCBr6
        XCLQUShb1juUO1ZdiYoFaFQT5Tw8bGUl/x/jTj3ccPDVZFD9pIuhLhBOneufuBiB
        4cS98l2SR/RQyGWSeWjnczT0QU91p1DhOVRuOopznQKBgQDgHMQQ60imZV1URk0K
        pLttoLhyt3SmqdEf/kgHePDdtzEafpAu+cS191R2JiuoF2yzWXnwFDcqGigp5BNr
        0AHQfD8/Lk8l1Mk09jxxCfui5nYooNyac8YFjm3vItzVCVDnEd3BbVWG8qf6deqE
        lMGAg+C2V0L4oNXnP7LZcPAZRwKBgQC5A8R+CZW2MvRTLLHzwZkUXV866cff7tx6
        kqa0finGG0KgeqlaZPxgCZnFp7AeAcCMtiynVlJ7vMVgePsLq6XtON4tB5kP9jAP
        rq3rbAOal78eUH5OcED6eNuCV8ixEu1eWcPNCS/l1OW1EnXUEoEHKl54Xrrz2uNw
        kgMTP1FZ1wKBgAcCn1dwJKufzBWQxWQp1vsM5fggqPN1qGb5y0MAk3g7/Ls5bkUp
        5u9SN0Ai3Ya6hNnvWJMb7sXQX6U/zyO2M/hTip7tUeh7CXgwo59dkpN75gJLVds2
        9+DAncu3KXU4f2Fa+7bLNrur53k8KwPOq2bbuTG69QtV7Jr5MR0AHWKNAoGBAIf/
        evpitUf+4JYbLpvNXWcY052Mpz22aR84mY3nh3F2LF2mjMJDpTg7FmuyPcVw6EcG
        yoAe9fa65iNqCq+jdw6PVNGo2hxfjSiZ8IIzHdsPXI89//pMjZcQK9r+CCoRjaZj
        OYiIDktVWZzmevJuv6WywUqd57LE3Zar3dLSIkx1AoGAIYd7DHOhrWvxkwPQsRM2
        tOgrjbcrfvtQJipd+DlcxyVuuM9sQLdgjVk2oy26F0EmpScGLq2MowX7fhd/QJQ3
        ydy5cY7YIBi87w93IKLEdfnbJtoOPLUW0ITrJReOgo1cq9SbsxYawBgfp/gh6A56
        03k2+ZQwVK0JKSHuLFkuQ3U=
        -----END PRIVATE KEY-----
        """
    /// SEC 1, after its parameters, as `openssl ecparam -genkey` writes it.
    static let elliptic = """
        -----BEGIN EC PARAMETERS-----
        BggqhkjOPQMBBw==
        -----END EC PARAMETERS-----
        -----BEGIN EC PRIVATE KEY-----
        MHcCAQEEIDVtxI74p3Nc3EmOygOTGu/22amBmCh5QeXCOFZzS/IuoAoGCCqGSM49
        AwEHoUQDQgAE3DW2Djntpuf79EsRi0u+YQaPI41RCWkZVCYScqibHMHs4dJdIysz
        X43e7AQxHrbgiCJHADc5QjfuOKZfMFmJ6g==
        -----END EC PRIVATE KEY-----
        """
    /// The same as PKCS#8.
    static let ellipticPKCS8 = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgNW3Ejvinc1zcSY7K
        A5Ma7/bZqYGYKHlB5cI4VnNL8i6hRANCAATcNbYOOe2m5/v0SxGLS75hBo8jjVEJ
        aRlUJhJyqJscwezh0l0jKzNfjd7sBDEetuCIIkcANzlCN+44pl8wWYnq
        -----END PRIVATE KEY-----
        """
    /// Its public half.
    static let ellipticPublic = """
        -----BEGIN PUBLIC KEY-----
        MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE3DW2Djntpuf79EsRi0u+YQaPI41R
        CWkZVCYScqibHMHs4dJdIyszX43e7AQxHrbgiCJHADc5QjfuOKZfMFmJ6g==
        -----END PUBLIC KEY-----
        """
    /// The same with a passphrase, as PKCS#8.
    static let encryptedPKCS8 = """
        -----BEGIN ENCRYPTED PRIVATE KEY-----
        MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAhXGOMOX/3gogICCAAw
        DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEJOobcyo+G+mpUJnw0MFg5AEgZCk
        ICsu2PeOD8pu1BoSEfVe+L2P03Cug+EEdv3S3FoQ5xxdtqTu9iXC1MQo1cwA02rE
        nN5fWOWpyS2BBcx1krjosOWfKMCcGPLi86IN5wWlmttsBM0MLEdMDmnGJOzUcpLb
        lHkvsaWf4caPoQKw/YoyVU1ESU6nQnyxN8q2ctHEDpL7ekokzY3OZXzhChr/wJQ=
        -----END ENCRYPTED PRIVATE KEY-----
        """
    /// The same with a passphrase, as files were encrypted in the past.
    static let encryptedSEC1 = """
        -----BEGIN EC PRIVATE KEY-----
        Proc-Type: 4,ENCRYPTED
        DEK-Info: AES-128-CBC,7D0300787638CD35FFAA7453F0873C6C

        IyDV0utYLRcwMUfulE0QboL/VjB2tF+MeAa0TmzwgO9bcOACuhKINxdM/ikLheCU
        7dyVWotXjQ2/pbRw6qaQ++Ut/kPk2hr3NY3RTcPUgnJHuCtVvIIz2lHvVGzswGcN
        OshrSpCPXHZuUBtWQQpHEuF9k862LkM1WAnQtLUxhAo=
        -----END EC PRIVATE KEY-----
        """
    /// On another curve.
    static let p384 = """
        -----BEGIN PRIVATE KEY-----
        MIG2AgEAMBAGByqGSM49AgEGBSuBBAAiBIGeMIGbAgEBBDDbqLFbXtmm2YfspyoH
        k9wRSlitS4FfMeLsv9Btw34ldzkw9VxCR/rOlaghNSzJAs6hZANiAAT0lYHui4NG
        u59XzUlqjKUy1gDLJAzjuRXs/fnLfwPswhMgbLIHgUN/hMsPjFs+pjchV49ASDuA
        U2LCaIgxIa/jbgKY4XTzzSuj8QA6HgVVWnAtTTzyhazPbF2QUn+hMlE=
        -----END PRIVATE KEY-----
        """
    /// X25519, which agrees on keys and signs nothing.
    static let agreement = """
        -----BEGIN PRIVATE KEY-----
        MC4CAQAwBQYDK2VuBCIEIOgnWyAhwNR8iUhQ9rcsScir7sDM/Dd+GKD7tUU5RSlh
        -----END PRIVATE KEY-----
        """
    /// RSA with 1024 bits.
    static let shortRSA = """
        -----BEGIN PRIVATE KEY-----
        MIICdwIBADANBgkqhkiG9w0BAQEFAASCAmEwggJdAgEAAoGBAKCxCZAcZB/IR5P+
        SZDiRnow64KIAKsM8ZwFD/c2EoJgqzbshoTO15UsgqnBe9I82xBTxk+6Ayc5oXi+
        f4bE4bl4Y5SCdqbSYtb7DQvuTm9WWG4Jm/Id9gimTe8Yq6QgDFvHgOArzJP7FBZm
        MBaJLEFlvyRWt6qe130MO1FQ6fVjAgMBAAECgYEAnPRvX8irb3PDnmU5W//4UO+p
        icTnyiuJbxhuwMubBqf/dFVRCzWx0u437jGjjPWOD4OUZ1lMLSsYcgS4MV3rDx6c
        M5TdG5/tl1j8G4oUVdgeoxBdrhgDB+thma8r+F5Ukk6ed0DIG/547FoeoOwFGtho
        8qtTyrDINIBNWCwulRkCQQDPYq3IqG/+aRS1Wq7BXUISHUcmdqsa3O8WevU+kELV
        nFAK0tdKmhGlWHAVwviCbQWFjXIdpQXYZPruT6NEgkl1AkEAxlw63lLG/JINA8fB
        7STAKrfjzAHg9UOs7Bdfs0CSAPDbbROvwbz9aVyBdR1nwsK94RlI6kyKMbzodD1d
        ieiQdwJAZ70V720KcLoByOIuzr0mwsbwg3YTC2H/G0CwkvY46H/DrlZfqYq+TvaZ
        Qtl/1EZS38askdWtwdxphXJC2o9NzQJAByh641z/W0v19kX2JJWn7aK3MLx8nr0z
        d02coX5aBniqonQMaqRkTLIO5egKv4eBjKb576KVdhgIF3HDd1+SHwJBAL932orA
        TXzbr7Yzht6y1glatKmJzVl8FUJyGsT86xlWXvT1tZoFwiXf30zFARd9AebpwTD2
        8RRlqLz756xbXQo=
        -----END PRIVATE KEY-----
        """
}
