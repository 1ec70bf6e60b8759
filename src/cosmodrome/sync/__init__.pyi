from cosmodrome.sync.admin import AdminClient as AdminClient
from cosmodrome.sync.consumer import Consumer as Consumer
from cosmodrome.sync.consumer import LitePullConsumer as LitePullConsumer
from cosmodrome.sync.message import ReceivedMessage as ReceivedMessage
from cosmodrome.sync.name_server import NameServer as NameServer
from cosmodrome.sync.producer import Producer as Producer
