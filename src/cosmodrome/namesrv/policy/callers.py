"""Who sends a request, as far as it can be proven.

Owns: what an access key and a signature in a request come to.
Must not know: what anybody may do (rules.py).
"""

from typing import Final, NamedTuple

from cosmodrome.namesrv.policy.accounts import Account, AccountFile, Role
from cosmodrome.namesrv.policy.networks import is_from
from cosmodrome.protocol.acl import ACCESS_KEY, is_signed
from cosmodrome.protocol.command import RemotingCommand
from cosmodrome.transport.dispatch import Peer

# Tried for an access key that does not exist, so that the answer takes as long.
_ANY_TEXT: Final = "any text will do"


class Caller(NamedTuple):
    """A peer, the account that signed its request, and the access key that it only claims."""

    peer: Peer
    account: Account | None = None
    claimed: str | None = None

    def has_role(self, *roles: Role) -> bool:
        """Tell whether an account with one of these roles signed the request."""
        return self.account is not None and self.account.role in roles

    @property
    def shortcoming(self) -> str:
        """What is wrong with the signature; completes a sentence about the request."""
        if self.account is not None:
            return f"the role of {self.account.access_key} is {self.account.role}"
        if self.claimed is not None:
            return "its access key and signature fit no account"
        return "it is not signed"


def identify(request: RemotingCommand, peer: Peer, accounts: AccountFile) -> Caller:
    """Tell who sends a request. An account counts only with its signature and from one of its networks."""
    fields = request.ext_fields or {}
    claimed = fields.get(ACCESS_KEY)
    if not claimed:
        return Caller(peer)
    if not len(accounts):
        return Caller(peer, None, claimed)
    account = accounts.get(claimed)
    fits = is_signed(fields, request.body, _ANY_TEXT if account is None else account.secret_key)
    if account is not None and fits and is_from(peer, account.networks):
        return Caller(peer, account)
    return Caller(peer, None, claimed)
