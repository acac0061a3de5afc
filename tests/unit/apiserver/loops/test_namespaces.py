from kinformer.apiserver.loops import CreateAccount, Delete, FinalizeNamespace, NamespaceLedger, Node

SPACE = Node("/registry/core/namespaces/a", "ns-uid", "", "Namespace", "", "a")
GOING = SPACE._replace(is_deleting=True)
POD = Node("/registry/core/pods/a/p", "pod-uid", "", "Pod", "a", "p")


def ledger_of(*nodes: Node) -> NamespaceLedger:
    ledger = NamespaceLedger()
    for node in nodes:
        ledger.put(node)
    list(ledger.decide())
    return ledger


def test_a_namespace_that_stays_is_left_alone() -> None:
    ledger = NamespaceLedger()
    ledger.put(SPACE)
    ledger.put(POD)
    assert list(ledger.decide()) == []


def test_an_empty_namespace_that_is_deleted_is_finalized_n_2() -> None:
    ledger = ledger_of(SPACE)
    ledger.put(GOING)
    assert list(ledger.decide()) == [FinalizeNamespace(GOING)]
    assert list(ledger.decide()) == []


def test_the_content_goes_first_n_2() -> None:
    ledger = ledger_of(SPACE, POD)
    ledger.put(GOING)
    assert list(ledger.decide()) == [Delete(POD, "Background")]
    ledger.remove(POD)
    assert list(ledger.decide()) == [FinalizeNamespace(GOING)]


def test_content_with_finalizers_is_waited_for_n_2() -> None:
    ledger = ledger_of(SPACE, POD)
    ledger.put(GOING)
    list(ledger.decide())
    ledger.put(POD._replace(is_deleting=True, finalizers=("mine",)))
    assert list(ledger.decide()) == []
    ledger.remove(POD)
    assert list(ledger.decide()) == [FinalizeNamespace(GOING)]


def test_content_that_slipped_in_is_deleted_too() -> None:
    ledger = ledger_of(GOING)
    ledger.put(POD)
    assert list(ledger.decide()) == [Delete(POD, "Background")]


ACCOUNT = Node("/registry/core/serviceaccounts/a/default", "sa-uid", "", "ServiceAccount", "a", "default")


def test_a_namespace_that_stays_gets_its_account_back_where_there_are_accounts_n_4() -> None:
    ledger = NamespaceLedger(has_accounts=True)
    ledger.put(SPACE)
    assert list(ledger.decide()) == [CreateAccount(SPACE)]
    ledger.put(ACCOUNT)
    assert list(ledger.decide()) == []
    ledger.remove(ACCOUNT)
    assert list(ledger.decide()) == [CreateAccount(SPACE)]
    ledger.put(GOING)
    assert list(ledger.decide()) == [FinalizeNamespace(GOING)]


def test_an_account_in_a_namespace_that_is_not_there_makes_none() -> None:
    ledger = NamespaceLedger(has_accounts=True)
    ledger.put(POD)
    assert list(ledger.decide()) == []


def test_an_action_that_failed_is_decided_again_when_asked() -> None:
    ledger = ledger_of(GOING)
    ledger.concern(GOING)
    assert list(ledger.decide()) == [FinalizeNamespace(GOING)]
    ledger.remove(GOING)
    ledger.concern(GOING)
    assert list(ledger.decide()) == []


def test_a_namespace_of_another_group_is_an_object_like_any_other() -> None:
    ledger = NamespaceLedger()
    ledger.put(GOING._replace(group="example.dev"))
    assert list(ledger.decide()) == []
