"""An exec provider: nodes are local processes under $EXAMPLE_STATE. Explained in docs/providers/exec.md."""
import fcntl, json, os, pathlib, shutil, signal, socket, subprocess, sys, time
ask = json.load(sys.stdin)
node = pathlib.Path(os.environ.get("EXAMPLE_STATE", "exec-state")).resolve() / ask["run"] / ask.get("attempt", "")
facts, new, lock, pid, code, hook = (node / name for name in ("facts.json", "new", "lock", "pid", "code", "hook"))
WRAP = 'exec 2>&1; trap : TERM; rm -f "$0/code"; printf $$ > "$0/new"; mv "$0/new" "$0/pid"; "$@"; echo $? > "$0/code"'
def create():  # a repeat finds what the first one made
    if node.mkdir(parents=True, exist_ok=True) or not facts.exists():
        free = [(name, socket.create_server(("127.0.0.1", 0))) for name in ask["spec"]["boot"]["ports"]]
        where = {"host": "127.0.0.1", "ports": {name: server.getsockname()[1] for name, server in free}}
        mine = {key: ask[key] for key in ("slot", "attempt", "fence")} | {"lease": {"id": ask["attempt"]}}
        new.write_text(json.dumps(mine | {"endpoint": where})) and new.rename(facts)
    return json.loads(facts.read_text())
def runs():  # each process of the workload holds the lock, whatever becomes of its number
    try: return pid.exists() and fcntl.flock(lock.open("a"), fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError: return True
def inspect():
    if not facts.exists(): return {"present": False}
    work = {"state": "running" if runs() else "exited" if pid.exists() else "absent"}
    if pid.exists(): work |= {"handle": {"pid": pid.read_text()}, "code": int(code.read_text()) if code.exists() else None}
    last = json.loads(hook.read_text()) if hook.exists() else {"state": "none"}
    return json.loads(facts.read_text()) | {"present": True, "workload": work, "hook": last}
def ways(boot): return {"cwd": boot["workdir"] or node, "env": os.environ | boot["env"], "stdout": (node / "log").open("a")}
def run_hook():  # what was begun is on record before it runs, and what completed does not run again
    if hook.exists() and (last := json.loads(hook.read_text()))["key"] == ask["key"] and last.get("code") == 0: return {}
    keep = lambda **how: new.write_text(json.dumps({"key": ask["key"]} | how)) and new.rename(hook)
    keep(state="running")
    try: done = subprocess.run(ask["argv"], timeout=ask["timeout_ms"] / 1000, **ways(ask["spec"]["boot"])).returncode
    except subprocess.TimeoutExpired: done = -signal.SIGKILL
    keep(state="exited", **({"code": done} if done >= 0 else {"signal": -done}))
    return subprocess.CompletedProcess(ask["argv"], done).check_returncode() or {}
def start(boot):  # a repeat finds the pid of the first one
    how = ways(boot)
    for test in [] if pid.exists() else boot["verify"]:
        subprocess.run(test["argv"], check=True, timeout=test["timeout_ms"] / 1000, **how)
    if not pid.exists() and not fcntl.flock(held := lock.open("a"), fcntl.LOCK_EX):
        subprocess.Popen(["sh", "-c", WRAP, node, *boot["command"]], start_new_session=True, pass_fds=[held.fileno()], **how)
    while not pid.exists(): time.sleep(0.01)
    return {"handle": {"pid": pid.read_text()}}
def end():
    for how, wait in ((signal.SIGTERM, ask.get("grace_ms", 0) / 1000), (signal.SIGKILL, 5)):
        if runs(): os.killpg(int(pid.read_text()), how)
        while runs() and (wait := wait - 0.02) > 0: time.sleep(0.02)
    return sys.exit("the workload does not end") if runs() else pid.unlink(missing_ok=True) or {}
def owned(): return {"complete": True, "owned": [json.loads(one.read_text()) for one in node.glob("*/facts.json")]}
CALLS = {"create-lease": create, "lookup-endpoint": inspect, "inspect": inspect, "list-owned": owned,
         "start-bootstrap": lambda: start(ask["spec"]["boot"]), "cancel-bootstrap": end, "complete-bootstrap": dict, "run-hook": run_hook,
         "destroy-lease": lambda: end() or shutil.rmtree(node, ignore_errors=True) or {}}
try: print(json.dumps({"ok": CALLS[ask["call"]]()}))
except subprocess.SubprocessError as why: print(json.dumps({"error": {"class": "workload", "definite": True, "message": str(why)}}))
