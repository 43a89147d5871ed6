import AsyncHTTPClient
import JWTKit
