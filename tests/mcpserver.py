"""An MCP server with two tools, which notes in its folder what was called."""

SERVER = """\
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    result = {}
    if asked["method"] == "initialize":
        version = asked["params"]["protocolVersion"]
        about = {"name": "git", "version": "1"}
        result = {"protocolVersion": version, "capabilities": {"tools": {}}}
        result["serverInfo"] = about
    elif asked["method"] == "tools/list":
        form = {"type": "object"}
        names = ("log", "push")
        result = {"tools": [{"name": n, "inputSchema": form} for n in names]}
    elif asked["method"] == "tools/call":
        name = asked["params"]["name"]
        open(f"called-{name}", "w").close()
        result = {"content": [{"type": "text", "text": "done"}]}
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}))
        sys.stdout.flush()
"""
