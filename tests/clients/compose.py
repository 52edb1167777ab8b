"""The compose files: they follow the Compose specification, and what compose.postgres.yaml and docs/guide/scale.md start
answers, run without containers on a Postgres of its own. compose.restate.yaml is started by adapters/restate/tests."""

import glob
import json
import os
import re
import shlex
import socket
import subprocess
import tempfile
import time
import urllib.request

import yaml
from compose_spec import PyCompose

root = os.path.join(os.environ["CLIENTS"], "../..")
program = os.environ["PROGRAM"]


def text(name):
    with open(os.path.join(root, name)) as file:
        return file.read()


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def wait(what, is_there):
    for _ in range(200):
        if is_there():
            return
        time.sleep(0.1)
    raise SystemExit(f"never came: {what}")


files = {name: yaml.safe_load(text(name)) for name in ["compose.yaml", "compose.postgres.yaml", "compose.restate.yaml"]}
for name, file in files.items():
    PyCompose.from_yaml(yaml.safe_dump(file)).validate()
    print(f"{name}: {len(file['services'])} services")

services = files["compose.postgres.yaml"]["services"]
database = services["postgres"]["environment"]
password, port = "a password", free_port()
programs = sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1]
folder = tempfile.TemporaryDirectory(prefix="planwright-compose-")
data, socket_folder = os.path.join(folder.name, "data"), os.path.join(folder.name, "postgres")
os.mkdir(data)
os.mkdir(socket_folder)
os.chmod(folder.name, 0o755)
with open(os.path.join(socket_folder, "password"), "w") as file:
    file.write(password)
# Postgres refuses to run as root.
nobody = {"user": 65534, "group": 65534, "extra_groups": []} if os.getuid() == 0 else {}
if nobody:
    os.chown(socket_folder, 65534, 65534)
cluster = {"cwd": socket_folder, "stdout": subprocess.DEVNULL, **nobody}
user = database["POSTGRES_USER"]
init = ["-D", "cluster", "-U", user, "-E", "UTF8", "-A", "scram-sha-256", "--pwfile", "password", "-N"]
subprocess.run([f"{programs}/initdb", *init], check=True, **cluster)
serve = [f"{programs}/postgres", "-D", "cluster", "-p", str(port), "-k", socket_folder, "-c", "fsync=off"]
started = [subprocess.Popen(serve, stderr=subprocess.DEVNULL, **cluster)]


def run(arguments, environment):
    """What a service says, with nothing in its environment but what the file gives it."""
    ended = subprocess.run([program, *arguments], env=resolve(environment), stdout=subprocess.PIPE, text=True, check=True)
    return ended.stdout


def resolve(environment):
    """The environment of a service, in which the host `postgres` is this machine."""
    values = {"POSTGRES_PASSWORD": password}
    variable = re.compile(r"\$\{(\w+):[?-]\}")
    filled = {key: variable.sub(lambda found: values.get(found[1], ""), value) for key, value in environment.items()}
    assert "@postgres/" in filled["PLANWRIGHT_STORE"]
    filled["PLANWRIGHT_STORE"] = filled["PLANWRIGHT_STORE"].replace("@postgres/", f"@127.0.0.1:{port}/")
    return {**filled, "HOME": data, "PATH": "/usr/bin:/bin"}


try:
    healthy = services["postgres"]["healthcheck"]["test"]
    assert healthy[:2] == ["CMD", "pg_isready"], healthy
    is_healthy = [f"{programs}/pg_isready", *healthy[2:], "--port", str(port)]
    wait("a healthy Postgres", lambda: subprocess.run(is_healthy, stdout=subprocess.DEVNULL).returncode == 0)
    create = [f"{programs}/createdb", "-h", "127.0.0.1", "-p", str(port), "-U", user, database["POSTGRES_DB"]]
    subprocess.run(create, env={"PGPASSWORD": password}, check=True)

    run(services["migrate"]["command"], services["migrate"]["environment"])
    guide = text("docs/guide/scale.md")
    new_key = re.search(r"compose\.postgres\.yaml run --rm planwright (.*)", guide)[1]
    environment = services["planwright"]["environment"]
    key = re.search(r"pwk_\w+", run(shlex.split(new_key, comments=True), environment))[0]
    command = json.loads(re.search(r"^CMD (.*)", text("Dockerfile"), re.MULTILINE)[1])
    ports = [free_port() for _ in range(2)]
    for each in ports:
        listens = [argument.replace("0.0.0.0:8642", f"127.0.0.1:{each}") for argument in command]
        assert listens != command, command
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        started.append(subprocess.Popen([program, *listens], env=resolve(environment), **quiet))
    asked = re.search(r"^curl -s localhost:8642(/\S+) --json '(.*?)'", guide, re.MULTILINE)
    for turn, each in enumerate(ports, 1):
        wait("a service", lambda: socket.socket().connect_ex(("127.0.0.1", each)) == 0)
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"http://127.0.0.1:{each}{asked[1]}", asked[2].encode(), headers)
        with urllib.request.urlopen(request, timeout=60) as answered:
            answer = json.load(answered)
        assert answer["turn"] == turn and "300840" in answer["result"], answer
    print("two services over one Postgres: a question at each, in one thread")
finally:
    for process in reversed(started):
        process.terminate()
        process.wait()
