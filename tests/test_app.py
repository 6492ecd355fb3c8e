"""The app: answers are those of the shell, refusals too; a page of this machine alone."""

from __future__ import annotations

import http.client
import re
import shutil
import tempfile
import threading
import time
from html import unescape
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest
import uvicorn

from mialeak.cli import _run, main
from mialeak.cli._app_form import Question, arguments
from mialeak.cli._app_server import application
from mialeak.datasets import load_adult
from mialeak.tables import table_leakage

PEOPLE = "age,sex,job\n" + "".join(
    f"{20 + k * 7 % 30},{'fm'[k % 2]},{'abcd'[k * k % 4]}\n" for k in range(400)
)
COUNTED = "age,sex,n\n20,f,300\n20,m,280\n30,f,290\n30,m,7\n"
LARGEST = 100_000


@pytest.fixture(scope="module")
def port(tmp_path_factory):
    """A server of the app, in a thread."""
    served = application(tmp_path_factory.mktemp("app"), _run, largest=LARGEST)
    server = uvicorn.Server(uvicorn.Config(served, port=0, log_level="critical", lifespan="off"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield server.servers[0].sockets[0].getsockname()[1]
    server.should_exit = True
    thread.join()


def asked(port, method, path, body=None, **headers):
    """Status, headers and text of an answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request(
        method, path, body, {name.replace("_", "-"): v for name, v in headers.items()}
    )
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, answer.headers, text


def sent(port, name="people.csv", content=PEOPLE, register=None, **headers):
    """Upload files; the path of their form."""
    parts = [("file", name, content)] + ([("register", *register)] if register else [])
    head = "--x\r\nContent-Disposition: form-data"
    body = "".join(
        f'{head}; name="{field}"; filename="{each}"\r\n\r\n{text}\r\n'
        for field, each, text in parts
    )
    kind = "multipart/form-data; boundary=x"
    status, answer, text = asked(
        port, "POST", "/files", f"{body}--x--\r\n", Content_Type=kind, **headers
    )
    return answer["Location"] if status == 303 else (status, text)


def answered(port, path, columns=(), **fields):
    """Status and visible text of an answer."""
    query = urlencode([("ask", "1"), *(("columns", name) for name in columns), *fields.items()])
    status, _, text = asked(port, "GET", f"{path}?{query}")
    return status, " ".join(unescape(re.sub(r"<[^>]+>", " ", text.split("<body>")[-1])).split())


def test_the_answer_is_that_of_the_shell(port, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text(PEOPLE)
    fields = {"band-0": "5", "round": "5", "limit": "0.05", "secret": "job"}
    status, page = answered(port, sent(port), ["age", "sex", "job"], **fields)
    line = "--columns age,sex,job --bin age:5 --protect round:5 --secret job --max-leakage 0.05"
    main(["table", "people.csv", *line.split()])
    assert status == 200
    for sentence in capsys.readouterr().out.replace("\n", " ").split(". ")[:2]:
        assert " ".join(sentence.split()) in page
    assert (
        f"mialeak table people.csv {line}".replace("age,sex,job --bin", "age,sex,job --bin") in page
    )
    assert str(tmp_path) not in page


def test_the_report_and_the_recoding_are_files(port):
    path = sent(port)
    query = "ask=1&columns=age&columns=sex&limit=0.04&plan=1"
    status, headers, page = asked(port, "GET", f"{path}/report.html?{query}")
    assert status == 200
    assert headers["Content-Disposition"] == 'attachment; filename="report.html"'
    assert "<form" not in page
    assert "Publishing these" in page
    status, headers, table = asked(port, "GET", f"{path}/recoding.csv?{query}")
    assert (status, headers["Content-Type"]) == (200, "text/csv; charset=utf-8")
    assert table.startswith("column,")


def test_a_download_leaves_a_file_of_its_name_alone(port):
    path = sent(port, "recoding.csv", register=("recoding.csv", PEOPLE + PEOPLE.split("\n", 1)[1]))
    before = answered(port, path, ["age", "sex"], people="register")
    asked(port, "GET", f"{path}/recoding.csv?ask=1&columns=age&columns=sex&limit=0.04&plan=1")
    assert answered(port, path, ["age", "sex"], people="register") == before


def test_values_that_begin_with_a_dash_are_values(port):
    content = PEOPLE.replace("age,", "-a,").replace("\n20,", "\n-9,")
    status, page = answered(port, sent(port, content=content), ["-a"], missing="-9,-8", na="drop")
    assert status == 200
    assert "--columns=-a --missing=-9,-8 --na drop" in page


def test_the_example_is_marked_as_the_shell_counts_it(port):
    kind = "application/x-www-form-urlencoded"
    _, headers, _ = asked(port, "POST", "/files", "example=adult", Content_Type=kind)
    _, _, form = asked(port, "GET", headers["Location"])
    marked = re.findall(r'name="columns" value="(\w+)" checked', form)
    report = table_leakage(load_adult().columns, marked)
    status, page = answered(port, headers["Location"], marked)
    assert status == 200
    assert f"leaks {report.estimate.value:.3f}" in page


@pytest.mark.parametrize(
    ("content", "columns", "fields", "says"),
    [
        ("3,f\n4,m\n5,f\n6,f\n", ["a"], {}, "must have the names of its columns in line 1"),
        (COUNTED, ["age", "sex", "n"], {}, "--counts n"),
        (PEOPLE, [], {}, "Mark at least one column"),
        (PEOPLE, ["age"], {"limit": "2"}, "--max-leakage"),
        (PEOPLE, ["age"], {"limit": "5%"}, "--max-leakage must be a number"),
        (PEOPLE, ["age"], {"plan": "1"}, "State the largest leakage"),
        (PEOPLE, ["sex"], {"band-1": "5"}, "hold numbers in column 'sex'"),
        (PEOPLE, ["sex"], {"people": "size"}, "State the number of people"),
        (PEOPLE, ["sex"], {"people": "size", "size": "10"}, "population"),
        (PEOPLE, ["sex"], {"people": "register"}, "Choose the file of the register"),
        (PEOPLE, ["sex"], {"size": "5000"}, "Mark the population of 5000 people"),
        (PEOPLE, ["sex"], {"people": "size", "size": "/etc/hosts"}, "got '/etc/hosts'"),
        (PEOPLE, ["sex"], {"band-0": "5"}, "Mark the column 'age'"),
        (PEOPLE, ["sex"], {"secret": "sex"}, "secret"),
    ],
)
def test_what_the_shell_refuses_is_refused_in_its_words(port, content, columns, fields, says):
    status, page = answered(port, sent(port, content=content), columns, **fields)
    assert status == 400
    assert says in page
    assert "leaks 0" not in page


def test_cautions_are_accepted_of_one_question_alone(port):
    """A box that stays ticked would accept the cautions of the next question unseen."""
    marked = "age,job\n" + "".join(f"{20 + k * k % 37 % 11},{'ab?'[k % 3]}\n" for k in range(400))
    path, columns = sent(port, content=marked), ["age", "job"]
    _, _, form = asked(port, "GET", path)
    assert 'name="accept"' not in form
    fields = {"columns": "job", "limit": "0.9"}
    page = asked(port, "GET", f"{path}?{urlencode({'ask': 1, **fields})}")[2]
    stamp = re.search(r'name="accept" value="(\w+)">', page)[1]
    _, page = answered(port, path, ["job"], limit="0.9", accept=stamp)
    assert "--accept-cautions" in page
    assert "This is undecided" not in page
    for accept, others in ((stamp, columns), (stamp, ["age"]), ("1", ["job"])):
        _, page = answered(port, path, others, limit="0.9", accept=accept)
        assert ("This is undecided" in page) == ("job" in others)


def test_a_register_makes_the_answer_exact(port):
    path = sent(port, register=("people.csv", PEOPLE + PEOPLE.split("\n", 1)[1]))
    status, page = answered(port, path, ["age", "sex"], people="register")
    assert status == 200
    assert "--population register-people.csv" in page
    assert "800" in page


def test_only_this_machine_and_this_page_are_answered(port):
    assert asked(port, "GET", "/", Host="attacker.example")[0] == 400
    assert asked(port, "GET", "/", Host=f"localhost:{port}")[0] == 200
    status, text = sent(port, Origin="https://attacker.example")
    assert status == 403
    assert "its own address" in text
    headers = asked(port, "GET", "/")[1]
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert not re.search(r"https?://|<script|url\(", asked(port, "GET", "/")[2])


def test_uploads_are_limited_and_stay_in_their_folder(port):
    status, text = sent(port, content=PEOPLE + "x" * LARGEST)
    assert status == 413
    assert "--largest" in text
    path = sent(port, name="../../etc/-x y;.csv")
    status, page = answered(port, path, ["age"])
    assert status == 200
    assert "'x y_.csv'" in page or "x y_.csv" in page
    assert asked(port, "GET", f"/ask/{quote('../x', safe='')}")[0] == 404


def test_markup_in_names_and_values_is_text(port):
    name = "<script>alert(1)</script>"
    content = f'"{name}",sex\n' + "".join(f"<b>{k % 3},{'fm'[k % 2]}\n" for k in range(60))
    path = sent(port, name="<i>.csv", content=content)
    for text in (asked(port, "GET", path)[2], asked(port, "GET", f"{path}?ask=1&columns=sex")[2]):
        assert "<script" not in text
        assert "<i>" not in text


def test_a_line_of_the_shell_quotes_names():
    names, typed = ["a,b", 'c"d'], {"round": "5"}
    words = arguments(Question(lambda name: typed.get(name, ""), names, names), "x.csv")
    assert words[:4] == ["table", "x.csv", "--columns", '"a,b","c""d"']
    assert words[4:] == ["--protect", "round:5"]


# --- in a browser -----------------------------------------------------------------------------

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-sync "
    "--disable-background-networking --disable-component-update --disable-dev-shm-usage"
)


@pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="needs chromium and chromedriver")
def test_in_a_browser_by_keyboard_at_two_widths(port, tmp_path):
    from selenium import webdriver
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.ui import WebDriverWait

    (tmp_path / "people.csv").write_text(PEOPLE)
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    profile = tempfile.mkdtemp(dir=tmp_path)
    for flag in (*FLAGS.split(), f"--user-data-dir={profile}"):
        options.add_argument(flag)
    browser = webdriver.Chrome(options, webdriver.ChromeService(DRIVER))
    try:
        browser.get(f"http://127.0.0.1:{port}/")
        browser.find_element(By.NAME, "file").send_keys(str(tmp_path / "people.csv"))
        browser.find_element(By.XPATH, "//button[.='Read the file']").send_keys(Keys.ENTER)
        wait = WebDriverWait(browser, 60).until
        boxes = wait(lambda page: page.find_elements(By.NAME, "columns"))
        assert [box.get_attribute("value") for box in boxes] == ["age", "sex", "job"]
        assert all(box.is_selected() for box in boxes)
        boxes[2].send_keys(Keys.SPACE)
        browser.find_element(By.NAME, "limit").send_keys("0.5", Keys.ENTER)
        verdict = wait(lambda page: page.find_elements(By.CSS_SELECTOR, "[role=status]"))[0]
        assert "within the limit" in verdict.text
        answer = browser.find_element(By.CLASS_NAME, "answer").text
        assert answer.startswith("Publishing these 30 counts of ")
        for details in browser.find_elements(By.TAG_NAME, "details"):
            browser.execute_script("arguments[0].open = true", details)
        for field in browser.find_elements(By.CSS_SELECTOR, "input:not([type=hidden]), select"):
            assert field.accessible_name, field.get_attribute("outerHTML")
        for width in (1280, 390):
            size = {"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": False}
            browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
            wide = "return [document.documentElement.scrollWidth, window.innerWidth]"
            taken, given = browser.execute_script(wide)
            assert taken <= given
        assert browser.get_log("browser") == []  # nothing was blocked, nothing is missing
    finally:
        browser.quit()
