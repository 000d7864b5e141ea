"""A checkout from the payer's arrival to the outcome, with nothing but Python's standard library (3.8 or newer):

    python3 scripts/examples/checkout.py --key KEY --owner-key KEY

What a checkout must get right is in `ask` and `press`: one body and one Idempotency-Key for each press of the button,
few tries within one deadline, a longer pause after a dropped connection, and no answer taken for a refusal.
"""

import argparse
import http.client
import json
import random
import time
import urllib.error
import urllib.request
import uuid

TRIES_MAX = 3
DEADLINE_S = 3.0
# Over the rate limit an answer is delayed by up to 2 s. A try that gives up sooner makes two requests of one.
TRY_TIMEOUT_S = 2.3
TRY_S_MIN = 0.3
PRESS_TRIES_MAX = 5
# A little more than the service says, because timers fire early, and asking early makes the wait longer.
MARGIN_S = 0.25


class NoAnswer(Exception):
    """Nobody knows what the service would say; a verdict may have been decided."""


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """The access key must not go to wherever an answer points."""

    def redirect_request(self, *_):
        return None


OPENER = urllib.request.build_opener(NoRedirect)


def ask(url, key, body, headers=()):
    """The answer as a dict. Raises NoAnswer, or SystemExit for a refusal that would come again."""
    # The text is written once, because a repeat under the same Idempotency-Key must have the same body.
    text = json.dumps(body).encode()
    ends_at = time.monotonic() + DEADLINE_S
    for number in range(1, TRIES_MAX + 1):
        request = urllib.request.Request(url, data=text, method="POST")
        for name, value in {"Content-Type": "application/json", "X-KA-Access-Key": key, **dict(headers)}.items():
            request.add_header(name, value)
        try:
            left = ends_at - time.monotonic()
            with OPENER.open(request, timeout=min(TRY_TIMEOUT_S, left)) as answer:
                return json.loads(answer.read())
        except urllib.error.HTTPError as refusal:
            said = refusal.read().decode(errors="replace")
            if refusal.code < 500 and refusal.code not in (408, 429):
                raise SystemExit(f"{refusal.code}: {said}")
            why, pause = f"{refusal.code}", float(refusal.headers.get("Retry-After") or 0)
        except (http.client.HTTPException, ConnectionError) as broken:
            # Perhaps this is the rate limit, which drops requests that it would delay for longer than 2 s.
            why, pause = repr(broken), random.uniform(0.5, 1.5)
        except (OSError, ValueError) as failure:
            why, pause = repr(failure), 0.0
        pause += 0.1 * 2 ** (number - 1) * random.uniform(0.5, 1.5)
        if number == TRIES_MAX or time.monotonic() + pause + TRY_S_MIN > ends_at:
            break
        time.sleep(pause)
    raise NoAnswer(why)


def press(options, payment, order_ref):
    """One press of the button: the same key until there is an answer, so that the payer takes one step."""
    headers = {"Idempotency-Key": str(uuid.uuid4())}
    body = {**payment, "method": "card", "orderRef": order_ref}
    for number in range(1, PRESS_TRIES_MAX + 1):
        try:
            return ask(options.url + "/v1/client/verdict", options.key, body, headers)
        except NoAnswer as no_answer:
            if number == PRESS_TRIES_MAX:
                raise
            print(f"  no answer ({no_answer}); the same press is asked about again")
            time.sleep(number)


def requisite_for(options, payment, order_ref):
    """Asks as often as the service says "wait"; gives what to show then."""
    while True:
        answer = press(options, payment, order_ref)
        print(f'verdict for {order_ref}: {answer["verdict"]}, "{answer["reason"]}"')
        if answer["verdict"] != "WAIT":
            return answer
        print(f'  the page shows a timer of {answer["waitSeconds"]} s')
        time.sleep(answer["waitSeconds"] + MARGIN_S)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--url", default="http://127.0.0.1:8080")
    parser.add_argument("--platform-url", default="http://127.0.0.1:8081")
    parser.add_argument("--key", required=True, help="with score and verdict, of the platform sandbox")
    parser.add_argument("--owner-key", required=True, help="with outcomes, of the same platform")
    options = parser.parse_args()

    client_id_key = f"payer-{uuid.uuid4()}"
    payment = {"sellPointKey": "shop-1", "clientIdKey": client_id_key, "amountRequested": "25.00"}
    try:
        score = ask(options.url + "/v1/client/score", options.key, {**payment, "selectedMethodKey": "card"})
        print(f'score: {score["clientGroup"]}, payment score {score["paymentScore"]}, bot {score["isBot"]}')
        if score["clientGroup"] == "BLOCKED" or score["isBot"]:
            return print("  no payment is offered")
    except NoAnswer as no_answer:
        # Decide this beforehand. Here a payer without a score goes on, and a payer without a verdict does not.
        print(f"  no score ({no_answer}); the payment is offered all the same")

    requisite_for(options, payment, "order-1")
    print("  a requisite is shown; the payer leaves it unpaid and tries again")
    if requisite_for(options, payment, "order-2")["verdict"] == "BLOCK":
        return print("  the page shows the support contact")
    print("  a requisite is shown, and paid")

    # A report may be repeated. It is final for its order.
    report = {"clientIdKey": client_id_key, "orderRef": "order-2", "outcome": "PAID"}
    print("outcome", ask(options.platform_url + "/v1/platform/outcomes", options.owner_key, report)["result"])


if __name__ == "__main__":
    try:
        main()
    except NoAnswer as no_answer:
        raise SystemExit(f"no answer ({no_answer}); without a verdict no requisite is shown")
