import AgentServer
import ArgumentParser
import Logging
import OAuthClient
import TOMLKit

print("x")
