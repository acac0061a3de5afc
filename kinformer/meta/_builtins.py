"""The kinds that every cluster serves, as data: the table behind ``Resource.builtin``.

The short names are kubectl's. Custom resources do not belong here: make a ``Resource`` of your own for those.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

__all__ = ["BUILTINS", "BuiltinRow"]


class BuiltinRow(NamedTuple):
    """One line of the table."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool
    short_names: tuple[str, ...]


# plural/short/short Kind, one group version and scope to a line. A kind that several groups or versions serve
# (Event, HorizontalPodAutoscaler) resolves to the line that stands first.
_TABLE: Final = """
v1 namespaced: configmaps/cm ConfigMap, endpoints/ep Endpoints, events/ev Event, limitranges/limits LimitRange
v1 namespaced: persistentvolumeclaims/pvc PersistentVolumeClaim, pods/po Pod, podtemplates PodTemplate
v1 namespaced: replicationcontrollers/rc ReplicationController, resourcequotas/quota ResourceQuota, secrets Secret
v1 namespaced: serviceaccounts/sa ServiceAccount, services/svc Service
v1 cluster: namespaces/ns Namespace, nodes/no Node, persistentvolumes/pv PersistentVolume
admissionregistration.k8s.io/v1 cluster: mutatingwebhookconfigurations MutatingWebhookConfiguration
admissionregistration.k8s.io/v1 cluster: validatingwebhookconfigurations ValidatingWebhookConfiguration
admissionregistration.k8s.io/v1 cluster: validatingadmissionpolicies ValidatingAdmissionPolicy
admissionregistration.k8s.io/v1 cluster: validatingadmissionpolicybindings ValidatingAdmissionPolicyBinding
apiextensions.k8s.io/v1 cluster: customresourcedefinitions/crd/crds CustomResourceDefinition
apiregistration.k8s.io/v1 cluster: apiservices APIService
apps/v1 namespaced: controllerrevisions ControllerRevision, daemonsets/ds DaemonSet, deployments/deploy Deployment
apps/v1 namespaced: replicasets/rs ReplicaSet, statefulsets/sts StatefulSet
autoscaling/v2 namespaced: horizontalpodautoscalers/hpa HorizontalPodAutoscaler
autoscaling/v1 namespaced: horizontalpodautoscalers/hpa HorizontalPodAutoscaler
batch/v1 namespaced: cronjobs/cj CronJob, jobs Job
certificates.k8s.io/v1 cluster: certificatesigningrequests/csr CertificateSigningRequest
coordination.k8s.io/v1 namespaced: leases Lease
discovery.k8s.io/v1 namespaced: endpointslices EndpointSlice
events.k8s.io/v1 namespaced: events/ev Event
flowcontrol.apiserver.k8s.io/v1 cluster: flowschemas FlowSchema
flowcontrol.apiserver.k8s.io/v1 cluster: prioritylevelconfigurations PriorityLevelConfiguration
networking.k8s.io/v1 namespaced: ingresses/ing Ingress, networkpolicies/netpol NetworkPolicy
networking.k8s.io/v1 cluster: ingressclasses IngressClass, ipaddresses/ip IPAddress, servicecidrs ServiceCIDR
node.k8s.io/v1 cluster: runtimeclasses RuntimeClass
policy/v1 namespaced: poddisruptionbudgets/pdb PodDisruptionBudget
rbac.authorization.k8s.io/v1 namespaced: roles Role, rolebindings RoleBinding
rbac.authorization.k8s.io/v1 cluster: clusterroles ClusterRole, clusterrolebindings ClusterRoleBinding
resource.k8s.io/v1 namespaced: resourceclaims ResourceClaim, resourceclaimtemplates ResourceClaimTemplate
resource.k8s.io/v1 cluster: deviceclasses DeviceClass, resourceslices ResourceSlice
scheduling.k8s.io/v1 cluster: priorityclasses/pc PriorityClass
storage.k8s.io/v1 namespaced: csistoragecapacities CSIStorageCapacity
storage.k8s.io/v1 cluster: csidrivers CSIDriver, csinodes CSINode, storageclasses/sc StorageClass
storage.k8s.io/v1 cluster: volumeattachments VolumeAttachment, volumeattributesclasses/vac VolumeAttributesClass
"""


def _rows() -> Iterator[BuiltinRow]:
    for line in _TABLE.strip().splitlines():
        head, _, entries = line.partition(": ")
        api_version, scope = head.split(" ")
        group, _, version = api_version.rpartition("/")
        for entry in entries.split(", "):
            names, kind = entry.split(" ")
            plural, *short_names = names.split("/")
            yield BuiltinRow(group, version, plural, kind, scope == "namespaced", tuple(short_names))


BUILTINS: Final[tuple[BuiltinRow, ...]] = tuple(_rows())
