"""Every target by name: a function of any bytes that returns, or raises when something that must hold does not."""

from collections.abc import Callable, Mapping
from typing import Final

from fuzz.targets.accounts import account_file, acl_signature
from fuzz.targets.broker_bodies import broker_bodies
from fuzz.targets.connections import connection
from fuzz.targets.files import config_values, properties_file, toml_file
from fuzz.targets.filters import sql_filter
from fuzz.targets.frames import binary_header, frame_decoder, json_header
from fuzz.targets.greetings import greeting, port_page
from fuzz.targets.json_texts import client_bodies, kv_file, lenient_json
from fuzz.targets.messages import batch_body, compressed_body, message_properties, store_records
from fuzz.targets.registrations import registration_body
from fuzz.targets.requests import requests

Target = Callable[[bytes], None]

TARGETS: Final[Mapping[str, Target]] = {
    target.__name__: target
    for target in (
        frame_decoder, json_header, binary_header, registration_body, lenient_json, client_bodies, kv_file, greeting,
        broker_bodies, port_page,
        properties_file, toml_file, config_values, acl_signature, account_file, requests,
        store_records, batch_body, message_properties, compressed_body, sql_filter,
        connection,
    )
}  # fmt: skip
