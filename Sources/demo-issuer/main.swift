import DemoIssuer

print("x")
